import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Isolation } from "../../src/sandbox/sandbox.ts";
import { obstacle, userId as uid, userObstacle } from "./cage-stage.ts";

userTest(
  "an ordinary user's job is the user nobody, sees no home and no other process, and gets no namespace",
  async () => {
    const script = "id -u; ls ~ /home; cat /proc/1/environ; kill -9 -1; unshare -Ur true; echo still there";
    const { stdout, isolation } = await runAsUser([], script);
    expect(stdout).toBe("65534\nstill there\n");
    expect(isolation).toMatchObject({ level: "best-effort" });
    expect(isolation.applied).toEqual([
      "namespaces",
      "namespaces: user",
      "jail",
      "user",
      "capabilities",
      "no_new_privs",
      "seccomp",
      "pids: rlimit",
      "file_size: rlimit",
    ]);
    expect(partsOf(isolation)).toContain("cgroup");
  },
);

userTest(
  "a host that forbids user namespaces still gives what anybody may have, and the rest is listed",
  async () => {
    // The kernel makes no user namespace for a process in a chroot.
    const enter = `mount --rbind / "$0" && exec chroot --userspec=${uid}:${uid} "$0" "$@"`;
    const script = "grep -E 'Seccomp:|NoNewPrivs' /proc/self/status; pwd; (setsid sleep 4711.1 &); exit 0";
    const root = mkdtempSync(join(tmpdir(), "writ-chroot-"));
    try {
      const { stdout, isolation, workDir } = await runAsUser(
        ["unshare", "-m", "sh", "-c", enter, root],
        script,
      );
      expect(stdout).toMatch(/^NoNewPrivs:\s+1$/m);
      expect(stdout).toMatch(/^Seccomp:\s+2$/m);
      expect(stdout).toContain(workDir);
      expect(isolation).toMatchObject({
        level: "best-effort",
        applied: ["no_new_privs", "seccomp", "file_size: rlimit"],
      });
      expect(partsOf(isolation)).toEqual(
        expect.arrayContaining(["cgroup", "namespaces", "jail", "user", "capabilities"]),
      );
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
);

/** As root it becomes the user; an ordinary user is one already, but cannot make a chroot. */
function userTest(name: string, run: () => Promise<void>): void {
  const why = obstacle ?? userObstacle();
  if (why === null) test(name, run);
  else test.skip(`${name} (not capable: ${why})`, run);
}

/** Runs one job as the user, behind the words of a command that becomes that user, or else directly. */
async function runAsUser(
  prefix: readonly string[],
  script: string,
): Promise<{ stdout: string; isolation: Isolation; workDir: string }> {
  const dir = mkdtempSync(join(tmpdir(), "writ-unprivileged-"));
  chmodSync(dir, 0o777);
  const program = join(import.meta.dirname, "run-one-job.ts");
  const [command, ...args] = [...prefix, process.execPath, program, dir, "job", script];
  try {
    const ids = prefix.length === 0 ? { uid, gid: uid } : {};
    const { stdout } = await promisify(execFile)(command!, args, ids);
    const jobDir = join(dir, "jobs/job");
    const isolation = JSON.parse(readFileSync(join(jobDir, "isolation.json"), "utf8"));
    return { stdout, isolation, workDir: join(jobDir, "work") };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function partsOf({ missing }: Isolation): string[] {
  return missing.map(({ part }) => part);
}
