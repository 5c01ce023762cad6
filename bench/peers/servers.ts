import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../test/support/free-port.ts";
import { PostgresCluster, withClient } from "../../test/support/postgres-cluster.ts";
import { pathOf } from "./needs.ts";

/** A database server that lives for one run, in a folder of its own. */
export type PeerServer = { port: number; pid: number; stop(): Promise<void> };

const startsWithinMs = 30_000;

/** With `always` every write is on disk before its answer, as it is in Writ; `everysec` may lose a second of them. */
export async function startRedis(appendFsync: "everysec" | "always"): Promise<PeerServer> {
  const dir = mkdtempSync(join(tmpdir(), "writ-bench-redis-"));
  const port = await freePort();
  const settings = {
    bind: "127.0.0.1",
    port: String(port),
    dir,
    appendonly: "yes",
    appendfsync: appendFsync,
    save: "",
    "maxmemory-policy": "noeviction",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(pathOf("redis"), args, { stdio: ["ignore", "ignore", "inherit"] });
  return running(child, { port, dir });
}

/** PostgreSQL with its own defaults, so with fsync. */
export async function startPostgres(): Promise<PeerServer> {
  const cluster = await PostgresCluster.start({ prefix: "writ-bench-postgres-" });
  return { port: cluster.port, pid: cluster.pid, stop: () => cluster.stop() };
}

/** A database for a hub, beside those of the rivals on the same server. */
export async function createDatabase({ port }: { port: number }, name = "writ"): Promise<string> {
  const url = (database: string) => `postgres://bench@127.0.0.1:${port}/${database}`;
  await withClient(url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
  return url(name);
}

async function running(
  child: ChildProcess,
  { port, dir }: { port: number; dir: string },
): Promise<PeerServer> {
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
    rmSync(dir, { recursive: true, force: true });
  };
  const giveUpAt = Date.now() + startsWithinMs;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > giveUpAt) {
      await stop();
      throw new Error(`${child.spawnfile} did not start on port ${port}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { port, pid: child.pid!, stop };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
