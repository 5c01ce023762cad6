import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resolveLimits } from "../../core/limits.ts";
import { openPlainSandbox } from "./open-plain-sandbox.ts";
import { plainSandbox } from "./plain-sandbox.ts";

const isRoot = process.getuid?.() === 0;
const notRoot = isRoot ? "" : " (not capable: needs root)";

function makeDir(mode: number): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-plain-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  chmodSync(dir, mode);
  return dir;
}

test("A19: as root, a work dir that jobs could not reach is refused by name at the start", async () => {
  const home = makeDir(0o700);
  const opened = openPlainSandbox({ workDir: join(home, "work"), uid: 0 });
  await expect(opened).rejects.toThrow(`who cannot enter ${home} (mode 0700); set WRIT_WORK_DIR`);
});

test("without root, processes run as the worker's user, and any work dir is accepted", async () => {
  expect(await openPlainSandbox({ workDir: join(makeDir(0o700), "work"), uid: 1000 })).toBe(plainSandbox);
});

test.runIf(isRoot)(
  `A19: as root, a process without a cage still runs as the user nobody, without groups, and owns its files${notRoot}`,
  async () => {
    const root = join(makeDir(0o711), "work");
    const attemptDir = join(root, "jobs/job/1");
    const workDir = join(attemptDir, "work");
    mkdirSync(join(workDir, "output"), { recursive: true, mode: 0o700 });
    writeFileSync(join(workDir, "input.json"), "{}", { mode: 0o600 });
    const sandbox = await openPlainSandbox({ workDir: root, uid: 0 });
    const script = `id -u; id -g; id -G; cat ${workDir}/input.json; echo 1 > ${workDir}/output/made; ls ${root}`;
    const limits = { limits: resolveLimits({}), asked: [] };
    const files = { stdoutFile: join(attemptDir, "stdout.log"), stderrFile: join(attemptDir, "stderr.log") };
    const running = await sandbox.start({
      ...limits,
      ...files,
      jobId: "job",
      attempt: 1,
      argv: ["sh", "-c", script],
      env: { PATH: "/usr/bin:/bin" },
      cwd: workDir,
      outputBytesMax: 1_000_000,
      workDir,
    });
    await running.exited;
    expect(readFileSync(files.stdoutFile, "utf8")).toBe("65534\n65534\n65534\n{}");
    expect(readFileSync(files.stderrFile, "utf8")).toMatch(/^ls: .*Permission denied\n$/);
    expect(statSync(join(workDir, "output/made")).uid).toBe(65_534);
    expect(running.isolation).toMatchObject({ level: "none", applied: ["user"] });
  },
);
