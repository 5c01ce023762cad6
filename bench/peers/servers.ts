import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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
  return running(child, { port, dir, endSignal: "SIGTERM" });
}

/** PostgreSQL with its own defaults, so with fsync. It refuses to run as root, so root becomes an ordinary user. */
export async function startPostgres(): Promise<PeerServer> {
  const dir = mkdtempSync(join(tmpdir(), "writ-bench-postgres-"));
  const user = process.getuid?.() === 0 ? ordinaryUser() : {};
  if (user.uid !== undefined) chownSync(dir, user.uid, user.gid!);
  const program = pathOf("postgres");
  const data = join(dir, "data");
  const init = ["-D", data, "-U", "bench", "--auth=trust", "--encoding=UTF8", "--no-locale"];
  const made = spawnSync(join(dirname(program), "initdb"), init, { ...user, cwd: dir, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || made.error?.message}`);
  const port = await freePort();
  const settings = ["listen_addresses=127.0.0.1", `unix_socket_directories=${dir}`, "log_min_messages=fatal"];
  const args = ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])];
  const child = spawn(program, args, { ...user, cwd: dir, stdio: ["ignore", "ignore", "inherit"] });
  // SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client to leave.
  return running(child, { port, dir, endSignal: "SIGINT" });
}

async function running(
  child: ChildProcess,
  { port, dir, endSignal }: { port: number; dir: string; endSignal: "SIGTERM" | "SIGINT" },
): Promise<PeerServer> {
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async () => {
    child.kill(endSignal);
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

function ordinaryUser(): { uid?: number; gid?: number } {
  const id = (flag: string) => Number(spawnSync("id", [flag, "nobody"], { encoding: "utf8" }).stdout);
  return { uid: id("-u"), gid: id("-g") };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
