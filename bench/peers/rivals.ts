import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchHub, startBenchHub } from "../_hub.ts";
import { bubblewrap, openBullMq } from "./bullmq.ts";
import { openGraphile } from "./graphile.ts";
import type { Program } from "./needs.ts";
import { openPgBoss } from "./pg-boss.ts";
import type { Rival } from "./rival.ts";
import { createDatabase, startPostgres, startRedis } from "./servers.ts";
import { openWrit } from "./writ.ts";

/** What a rival's server is reached by, and its processes; the process that drives it gets this and nothing else. */
export type RivalServer = { pids: number[]; port: number; url: string; token: string };
type Server = RivalServer & { stop(): Promise<void> };
/** A server that stands on another one asks for it. */
type Serve = (name: "postgres") => Promise<RivalServer>;

const processSlots = 32;

/** The servers that rivals stand on: each is started once in a run, by the first rival that needs it. */
export const servers = {
  hub: async (): Promise<Server> => hubPlace(await startBenchHub()),
  "hub on postgres": async (serve: Serve): Promise<Server> => {
    const database = await serve("postgres");
    const env = { WRIT_DATABASE_URL: await createDatabase(database) };
    return hubPlace(await startBenchHub(env), database.pids);
  },
  "hub and worker": async (): Promise<Server> => hubPlace(await startHubWithWorker()),
  "redis everysec": async (): Promise<Server> => place(await startRedis("everysec")),
  "redis always": async (): Promise<Server> => place(await startRedis("always")),
  postgres: async (): Promise<Server> => place(await startPostgres()),
} as const;
export type ServerName = keyof typeof servers;

type RivalSpec = { server: ServerName; needs: readonly Program[]; open(place: RivalServer): Promise<Rival> };

export const rivals = {
  writ: { server: "hub", needs: [], open: openWrit },
  "writ-postgres": { server: "hub on postgres", needs: ["postgres"], open: openWrit },
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

function place({ pid, port, stop }: { pid: number; port: number; stop(): Promise<void> }): Server {
  return { pids: [pid], port, url: "", token: "", stop };
}

function hubPlace({ url, token, pid, stop }: BenchHub, behind: number[] = []): Server {
  return { url, token, port: 0, pids: [pid, ...behind], stop };
}

function startHubWithWorker() {
  const home = mkdtempSync(join(tmpdir(), "writ-bench-exec-"));
  mkdirSync(join(home, "worker"), { mode: 0o700 });
  const settings = `execution:\n  slots: ${processSlots}\n`;
  writeFileSync(join(home, "worker/agents.yaml"), settings, { mode: 0o600 });
  return startBenchHub({}, home, "up");
}
