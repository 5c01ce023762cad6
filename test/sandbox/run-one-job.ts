import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LimitsText } from "../../src/core/limits.ts";
import { followFile } from "../../src/output/folder/follow-file.ts";
import { effectiveLimits } from "../../src/runners/effective-limits.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { silentLogger } from "../../src/runtime/log/logger.ts";
import { CagedSandbox } from "../../src/sandbox/caged-sandbox.ts";

type Options = {
  /** Becomes this user and group first. */
  uid?: number;
  /** By default what a worker would choose on this host. */
  level?: "strict" | "best-effort";
  mayMove?: boolean;
  limits?: LimitsText;
  timeoutSec?: number;
};

/**
 * A worker's part that a test can kill: runs one script in a cage and passes on its output. What the job got and how it
 * ended is written to `isolation.json` and `exit.json` in the job's folder.
 */
const [dir, jobId, script, json = "{}"] = process.argv.slice(2) as [string, string, string, string?];
const { uid, level, mayMove = false, limits = {}, timeoutSec } = JSON.parse(json) as Options;
if (uid !== undefined) {
  process.setgroups!([]);
  process.setgid!(uid);
  process.setuid!(uid);
}
const jobDir = join(dir, "jobs", jobId);
const workDir = join(jobDir, "work");
mkdirSync(workDir, { recursive: true });
const sandbox = await CagedSandbox.open({
  level,
  workDir: dir,
  clock: systemClock,
  logger: silentLogger,
  pid: process.pid,
  uid: process.getuid!(),
  mayMove,
});
const stdoutFile = join(jobDir, "stdout.log");
const running = await sandbox.start({
  jobId,
  attempt: 1,
  argv: ["sh", "-c", script],
  env: { PATH: "/usr/bin:/bin" },
  cwd: sandbox.workDirInside(workDir),
  stdoutFile,
  stderrFile: join(jobDir, "stderr.log"),
  outputBytesMax: 1024 ** 2,
  ...effectiveLimits(limits, { limits: {}, maxLimits: {} }),
  timeoutSec,
  workDir,
});
tell("isolation.json", running.isolation);
const ended = (): Promise<void> => running.exited.then(() => {});
for await (const bytes of followFile({ path: stdoutFile, offset: 0, ended })) process.stdout.write(bytes);
tell("exit.json", await running.exited);
await sandbox.close();

/** Whole or not at all, because a test reads it as soon as it is there. */
function tell(name: string, facts: object): void {
  writeFileSync(join(jobDir, `${name}.tmp`), JSON.stringify(facts));
  renameSync(join(jobDir, `${name}.tmp`), join(jobDir, name));
}
