import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

const root = join(import.meta.dirname, "../..");

export type Ended = { code: number; stdout: string; stderr: string };

/** An empty directory that is removed when the test has ended. */
export function emptyDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-registry-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Runs `jobctl registry` as a process of its own. */
export function jobctlRegistry(
  cwd: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  const around = { cwd, env: { PATH: process.env["PATH"], ...env }, timeout: 180_000 };
  return new Promise((resolve) => {
    execFile(join(root, "bin/jobctl"), ["registry", ...args], around, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** A process that uses the library for as long as it lives; it prints one line for each act. */
export function registryUser(cwd: string, act: "pick" | "change"): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, "registry-user.ts"), cwd, act], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
