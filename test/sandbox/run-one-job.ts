import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { resolveLimits } from "../../src/core/limits.ts";
import { followFile } from "../../src/output/folder/follow-file.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import { CagedSandbox } from "../../src/sandbox/caged-sandbox.ts";

/** A worker's part that a test can kill: runs one script in a cage and passes on what it says. */
const [dir, jobId, script] = process.argv.slice(2) as [string, string, string];
const jobDir = join(dir, "jobs", jobId);
const workDir = join(jobDir, "work");
mkdirSync(workDir, { recursive: true });
const sandbox = await CagedSandbox.open({
  workDir: dir,
  clock: systemClock,
  logger: silentLogger,
  pid: process.pid,
  uid: process.getuid!(),
  mayMove: process.argv[5] === "move",
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
  limits: resolveLimits({}),
  asked: [],
  workDir,
});
// Whole or not at all, because a test reads it as soon as it is there.
writeFileSync(join(jobDir, "isolation.tmp"), JSON.stringify(running.isolation));
renameSync(join(jobDir, "isolation.tmp"), join(jobDir, "isolation.json"));
const ended = (): Promise<void> => running.exited.then(() => {});
for await (const bytes of followFile({ path: stdoutFile, offset: 0, ended })) process.stdout.write(bytes);
await sandbox.close();
