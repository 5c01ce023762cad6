import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBenchHub } from "../_hub.ts";
import { bubblewrap, openBullMq } from "./bullmq.ts";
import { openGraphile } from "./graphile.ts";
import type { Program } from "./needs.ts";
import { openPgBoss } from "./pg-boss.ts";
import type { Rival } from "./rival.ts";
import { startPostgres, startRedis } from "./servers.ts";
import { openWrit } from "./writ.ts";

/** What a rival's server is reached by; the process that drives it gets this and nothing else. */
export type Place = { pid: number; port: number; url: string; token: string };
type Server = Place & { stop(): Promise<void> };

const processSlots = 32;

/** The servers that rivals stand on: each is started once in a run, by the first rival that needs it. */
export const servers = {
  hub: async (): Promise<Server> => ({ ...(await startBenchHub()), port: 0 }),
  "hub and worker": async (): Promise<Server> => ({ ...(await startHubWithWorker()), port: 0 }),
  "redis everysec": async (): Promise<Server> => place(await startRedis("everysec")),
  "redis always": async (): Promise<Server> => place(await startRedis("always")),
  postgres: async (): Promise<Server> => place(await startPostgres()),
} as const;
export type ServerName = keyof typeof servers;

type RivalSpec = { server: ServerName; needs: readonly Program[]; open(place: Place): Promise<Rival> };

export const rivals = {
  writ: { server: "hub", needs: [], open: openWrit },
  bullmq: { server: "redis everysec", needs: ["redis"], open: (place) => openBullMq(place) },
  "bullmq-always": { server: "redis always", needs: ["redis"], open: (place) => openBullMq(place) },
  "pg-boss": { server: "postgres", needs: ["postgres"], open: openPgBoss },
  graphile: { server: "postgres", needs: ["postgres"], open: (place) => openGraphile(place, "unbatched") },
  "graphile-batched": {
    server: "postgres",
    needs: ["postgres"],
    open: (place) => openGraphile(place, "batched"),
  },
  "writ-exec": { server: "hub and worker", needs: [], open: openWrit },
  "bullmq-spawn": { server: "redis everysec", needs: ["redis"], open: (place) => openBullMq(place) },
  "bullmq-bubblewrap": {
    server: "redis everysec",
    needs: ["redis", "bubblewrap"],
    open: (place) => openBullMq(place, bubblewrap),
  },
} as const satisfies Record<string, RivalSpec>;
export type RivalName = keyof typeof rivals;

function place(server: { pid: number; port: number; stop(): Promise<void> }): Server {
  return { ...server, url: "", token: "" };
}

function startHubWithWorker() {
  const home = mkdtempSync(join(tmpdir(), "writ-bench-exec-"));
  mkdirSync(join(home, "worker"), { mode: 0o700 });
  const settings = `execution:\n  slots: ${processSlots}\n`;
  writeFileSync(join(home, "worker/agents.yaml"), settings, { mode: 0o600 });
  return startBenchHub({}, home, "up");
}
