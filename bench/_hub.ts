import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type BenchHub = {
  url: string;
  token: string;
  home: string;
  pid: number;
  /** Ends the hub and leaves its home, for another one to start there. */
  leave(): Promise<void>;
  stop(): Promise<void>;
};

const writ = fileURLToPath(new URL("../bin/writ", import.meta.url));
const startsWithinMs = 30_000;

/**
 * A hub as users run it: a process of its own, durable, by default on a fresh home, which is removed at the end. With
 * `up` it has a worker too, whose home is the folder `worker` in there.
 */
export async function startBenchHub(
  env: Record<string, string> = {},
  home = mkdtempSync(join(tmpdir(), "writ-bench-")),
  command: "hub" | "up" = "hub",
): Promise<BenchHub> {
  const child = spawn(writ, [command, "--home", home, "--port", "0", "--grpc-port", "0"], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: process.env["PATH"], WRIT_LOG_LEVEL: "warn", ...env },
  });
  const { url } = await hubFile(child, home);
  const token = readFileSync(join(home, "admin.token"), "utf8").trim();
  const leave = () => end(child);
  const stop = async () => {
    await leave();
    rmSync(home, { recursive: true, force: true });
  };
  return { url, token, home, pid: child.pid!, leave, stop };
}

async function hubFile(child: ChildProcess, home: string): Promise<{ url: string }> {
  const path = join(home, "hub.json");
  const giveUpAt = Date.now() + startsWithinMs;
  while (!existsSync(path)) {
    if (child.exitCode !== null || Date.now() > giveUpAt) throw new Error("the hub did not start");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return JSON.parse(readFileSync(path, "utf8"));
}

async function end(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await exited;
}
