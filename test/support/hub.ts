import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startHub } from "../../src/hub/start.ts";
import type { Clock } from "../../src/runtime/clock/clock.ts";
import type { Failpoint } from "../../src/runtime/failpoint.ts";
import { type Answer, type CallOptions, callHttp } from "./call-http.ts";
import { checkAnswer } from "./check-answer.ts";
import { databaseEnv, dropDatabaseOf } from "./home-database.ts";

export type TestHub = {
  url: string;
  port: number;
  home: string;
  /** The administrator's token. */
  admin: string;
  /** Makes the connections to it. */
  agent: Agent;
  /** Calls a route below /api/v1 and checks the answer against its table; a path that begins with `//` is taken from the root instead. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** As `call`, but throws unless the answer is a success: for everything that only prepares a test. */
  must(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Stops the hub; `keepHome` leaves its files for a second start. */
  stop(options?: { keepHome?: boolean }): Promise<void>;
};

/** Nothing happens by itself in such a hub: no lease runs out, no worker falls silent, no retry waits. */
export const stillEnv = {
  WRIT_LEASE_MS: "3600000",
  WRIT_WORKER_INACTIVE_MS: "86400000",
  WRIT_BACKOFF_SCALE: "0",
} as const;

/** A real hub in this process, on free ports, with a home of its own. Settings go in as environment variables. */
export async function startTestHub(
  env: Record<string, string> = {},
  options: {
    home?: string;
    clock?: Clock;
    failpoint?: Failpoint;
    acceptLoss?: number;
    onNotice?: (line: string) => void;
  } = {},
): Promise<TestHub> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), "writ-http-"));
  const hub = await startHub({
    home,
    flags: { port: "0", grpcPort: "0" },
    env: { WRIT_LOG_LEVEL: "warn", ...(await databaseEnv(home)), ...env },
    osUser: "root",
    version: "0.0.0-test",
    clock: options.clock,
    failpoint: options.failpoint,
    acceptLoss: options.acceptLoss,
    onNotice: options.onNotice,
  });
  const admin = readFileSync(join(home, "admin.token"), "utf8").trim();
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  return testHub({ url: hub.url, port: hub.port, home, admin, agent, stop: () => hub.stop() });
}

type HubParts = Pick<TestHub, "url" | "port" | "home" | "admin" | "agent"> & { stop(): Promise<void> };

/** What tests do with a hub, however it is reached. */
export function testHub({ stop, ...hub }: HubParts): TestHub {
  const call: TestHub["call"] = async (method, path, given = {}) => {
    const target = { method, port: hub.port, path: fullPath(path) };
    const answer = await callHttp(hub.agent, target, given);
    checkAnswer(method, target.path, answer);
    return answer;
  };
  return {
    ...hub,
    call,
    async must(method, path, given) {
      const answer = await call(method, path, given);
      if (answer.status < 300) return answer;
      throw new Error(`${method} ${path} was to prepare a test and failed: ${answer.status} ${answer.text}`);
    },
    async stop({ keepHome = false } = {}) {
      await stop();
      hub.agent.destroy();
      if (keepHome) return;
      await dropDatabaseOf(hub.home);
      rmSync(hub.home, { recursive: true, force: true });
    },
  };
}

function fullPath(path: string): string {
  return path.startsWith("//") ? path.slice(1) : `/api/v1${path}`;
}
