import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type BenchHub = { url: string; token: string; home: string; pid: number; stop(): Promise<void> };

const writ = fileURLToPath(new URL("../src/cli/writ.ts", import.meta.url));
const startsWithinMs = 30_000;

/** A hub as users run it: a process of its own, durable, on a fresh home that is removed at the end. */
export async function startBenchHub(env: Record<string, string> = {}): Promise<BenchHub> {
  const home = mkdtempSync(join(tmpdir(), "writ-bench-"));
  const child = spawn(process.execPath, [writ, "hub", "--home", home, "--port", "0", "--grpc-port", "0"], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: process.env["PATH"], WRIT_LOG_LEVEL: "warn", ...env },
  });
  const { url } = await hubFile(child, home);
  const token = readFileSync(join(home, "admin.token"), "utf8").trim();
  return { url, token, home, pid: child.pid!, stop: () => stop(child, home) };
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

async function stop(child: ChildProcess, home: string): Promise<void> {
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await exited;
  rmSync(home, { recursive: true, force: true });
}
