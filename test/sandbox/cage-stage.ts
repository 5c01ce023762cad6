import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import { type LimitsText, resolveLimits } from "../../src/core/limits.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { silentLogger } from "../../src/runtime/log/logger.ts";
import { CagedSandbox, type CageOptions } from "../../src/sandbox/caged-sandbox.ts";
import { builtLauncherFile } from "../../src/sandbox/launcher/launcher.ts";
import type { LaunchPlan, ProcessExit, RunningProcess } from "../../src/sandbox/sandbox.ts";

/** Why no full cage can be had here; null when it can. */
export let obstacle: string | null =
  process.getuid?.() !== 0
    ? "not root"
    : !existsSync(builtLauncherFile)
      ? "no launcher was built, which needs a C compiler"
      : null;

/** Somebody who may nothing. */
export const userId = 4711;

/**
 * From here on this process is an ordinary user: cages are built in a user namespace. A test file has a process of its own,
 * so this reaches no other file.
 */
export function becomeOrdinaryUser(): void {
  obstacle = userObstacle();
  if (obstacle !== null || process.getuid!() !== 0) return;
  process.setgroups!([]);
  process.setgid!(userId);
  process.setuid!(userId);
}

/** Whether cages are built without root's rights, so that a job is on the host the user who started it. */
export function isOrdinaryUser(): boolean {
  return process.getuid?.() !== 0;
}

/** Why an ordinary user can build no cages here; null when one can. */
export function userObstacle(): string | null {
  if (!existsSync(builtLauncherFile)) return "no launcher was built, which needs a C compiler";
  if (!isReachable(builtLauncherFile)) return "others may not enter the folder of this checkout";
  const ids = isOrdinaryUser() ? {} : { uid: userId, gid: userId };
  const { status } = spawnSync("unshare", ["--user", "--map-root-user", "true"], ids);
  return status === 0 ? null : "this host forbids user namespaces";
}

function isReachable(path: string): boolean {
  if (isOrdinaryUser()) return true;
  return (statSync(path).mode & 0o001) !== 0 && (path === dirname(path) || isReachable(dirname(path)));
}

/** A test of a real cage. Where there can be none it is skipped, and says why. */
export function cageTest(
  name: string,
  run: () => Promise<void>,
  { timeoutMs }: { timeoutMs?: number } = {},
): void {
  if (obstacle === null) test(name, timeoutMs === undefined ? {} : { timeout: timeoutMs }, run);
  else test.skip(`${name} (not capable: ${obstacle})`, run);
}

/** A test of what only root can have or set up. */
export function rootTest(name: string, run: () => Promise<void>): void {
  if (isOrdinaryUser()) test.skip(`${name} (not capable: not root)`, run);
  else cageTest(name, run);
}

export type Stage = { dir: string; sandbox: CagedSandbox };

/** A sandbox of its own for each test, and nothing of it left afterwards. */
export function setStage(options: Partial<CageOptions> = {}): Stage {
  const stage = {} as Stage;
  beforeEach(async () => {
    if (obstacle !== null) return;
    stage.dir = mkdtempSync(join(tmpdir(), "writ-cage-"));
    stage.sandbox = await openSandbox(stage.dir, options);
  });
  afterEach(async () => {
    if (obstacle !== null) return;
    await stage.sandbox.close();
    rmSync(stage.dir, { recursive: true, force: true });
  });
  return stage;
}

export function openSandbox(workDir: string, options: Partial<CageOptions> = {}): Promise<CagedSandbox> {
  return CagedSandbox.open({
    workDir,
    clock: systemClock,
    logger: silentLogger,
    pid: process.pid,
    uid: process.getuid!(),
    mayMove: false,
    ...options,
  });
}

let jobs = 0;

/** A fresh job in the stage's directory. */
export function planJob(
  { dir, sandbox }: Stage,
  argv: string[],
  changes: Partial<LaunchPlan> & { limitsText?: LimitsText } = {},
): LaunchPlan {
  jobs += 1;
  const jobId = `test-${process.pid}-x${jobs}x`;
  const jobDir = join(dir, "jobs", jobId);
  const workDir = join(jobDir, "work");
  mkdirSync(workDir, { recursive: true, mode: 0o700 });
  const { limitsText = {}, ...rest } = changes;
  return {
    jobId,
    attempt: 1,
    argv,
    env: { PATH: "/usr/bin:/bin" },
    cwd: sandbox.workDirInside(workDir),
    stdoutFile: join(jobDir, "stdout.log"),
    stderrFile: join(jobDir, "stderr.log"),
    outputBytesMax: 64 * 1024 ** 2,
    limits: resolveLimits(limitsText),
    asked: [],
    workDir,
    ...rest,
  };
}

export type Ran = ProcessExit & { stdout: string; stderr: string; plan: LaunchPlan };

export async function runJob(
  stage: Stage,
  argv: string[],
  changes: Parameters<typeof planJob>[2] = {},
): Promise<Ran> {
  const plan = planJob(stage, argv, changes);
  const running = await stage.sandbox.start(plan);
  const exit = await running.exited;
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");
  return { ...exit, stdout: read(plan.stdoutFile), stderr: read(plan.stderrFile), plan };
}

export function runScript(
  stage: Stage,
  script: string,
  changes: Parameters<typeof planJob>[2] = {},
): Promise<Ran> {
  return runJob(stage, ["sh", "-c", script], changes);
}

/** Starts a script and returns when it has said `ready`. */
export async function startUntilReady(
  stage: Stage,
  script: string,
  changes: Parameters<typeof planJob>[2] = {},
): Promise<{ running: RunningProcess; plan: LaunchPlan }> {
  const plan = planJob(stage, ["sh", "-c", script], changes);
  const running = await stage.sandbox.start(plan);
  let isOver = false;
  void running.exited.then(() => {
    isOver = true;
  });
  while (!readFileSync(plan.stdoutFile, "utf8").includes("ready")) {
    if (isOver) throw new Error(`it ended: ${readFileSync(plan.stderrFile, "utf8")}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { running, plan };
}

/** The job's cgroup, null where jobs have none. */
export function cgroupOf({ sandbox }: Stage, plan: LaunchPlan): string | null {
  const { jobsDir, parts } = sandbox.facts;
  return jobsDir === null || !parts.cgroup.had ? null : join(jobsDir, plan.jobId);
}

/** Living processes whose command line holds a text that only they have. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => commandLine(pid).includes(text))
    .map(Number);
}

/** Our own child of this name. */
export function childNamed(name: string): number {
  const found = readdirSync("/proc").find((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const stat = readText(`/proc/${pid}/stat`);
    return (
      stat.includes(`(${name})`) && stat.slice(stat.lastIndexOf(")")).split(" ")[2] === String(process.pid)
    );
  });
  if (found === undefined) throw new Error(`there is no child ${name}`);
  return Number(found);
}

/** A dead process has no command line any more, even before its parent has waited for it. */
function commandLine(pid: string): string {
  return readText(`/proc/${pid}/cmdline`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
