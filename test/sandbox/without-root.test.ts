import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { cageTest } from "./cage-stage.ts";

/** Somebody who may nothing. */
const uid = 4711;

const name = "without root's rights a job still gets what anybody may have, and the rest is listed";

/** A checkout in a private folder cannot be run by anybody else, and so not by this somebody. */
if (isReachable(import.meta.dirname)) cageTest(name, runUnprivileged);
else test.skip(`${name} (not capable: others may not enter the folder of this checkout)`, runUnprivileged);

function isReachable(dir: string): boolean {
  if ((statSync(dir).mode & 0o001) === 0) return false;
  return dir === dirname(dir) || isReachable(dirname(dir));
}

async function runUnprivileged(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "writ-unprivileged-"));
  chmodSync(dir, 0o777);
  try {
    const script = join(import.meta.dirname, "run-one-job.ts");
    const job = "grep -E 'Seccomp:|NoNewPrivs' /proc/self/status; pwd; (setsid sleep 4711.1 &); exit 0";
    const { stdout } = await promisify(execFile)(process.execPath, [script, dir, "job", job], {
      uid,
      gid: uid,
    });
    expect(stdout).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(stdout).toMatch(/^Seccomp:\s+2$/m);
    expect(stdout).toContain(join(dir, "jobs/job/work"));
    const isolation = JSON.parse(readFileSync(join(dir, "jobs/job/isolation.json"), "utf8"));
    expect(isolation).toMatchObject({ level: "best-effort", applied: ["no_new_privs", "seccomp"] });
    const missing = isolation.missing.map(({ part }: { part: string }) => part);
    expect(missing).toEqual(expect.arrayContaining(["cgroup", "namespaces", "jail", "user", "capabilities"]));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
