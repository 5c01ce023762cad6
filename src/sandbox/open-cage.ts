import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { checkLimits } from "../core/check-limits.ts";
import { hasCode, WritError } from "../core/errors.ts";
import { uuidV7 } from "../core/ids.ts";
import type { OutputStream } from "../core/jobs/output-stream.ts";
import { type Limits, type LimitsText, resolveLimits } from "../core/limits.ts";
import { followFile } from "../output/folder/follow-file.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import { type Logger, silentLogger } from "../runtime/log/logger.ts";
import { CagedSandbox } from "./caged-sandbox.ts";
import { limitKeys, limitParts } from "./cgroup/cgroup-limits.ts";
import { emptyDirectory } from "./empty-directory.ts";
import { openPlainSandbox } from "./plain/open-plain-sandbox.ts";
import type { Isolation, IsolationLevel, ProcessExit, Sandbox, Usage } from "./sandbox.ts";
import { createTerminator, type Terminator } from "./terminate.ts";

export type OpenCageOptions = {
  /** The directory of the jobs' files; a subdirectory is created in it and removed at the end. */
  dir: string;
  /** Default: strict if the host supports everything, else best-effort. */
  isolation?: IsolationLevel;
  /** Paths of the host that jobs may read, in addition to its programs and libraries. */
  visiblePaths?: readonly string[];
  /** For each of the two streams; a job that writes more is ended (default: 1 GiB). */
  outputBytesMax?: number;
  /** The time between SIGTERM and SIGKILL (default: 5 s). */
  stopGraceMs?: number;
  logger?: Logger;
};

export type JobStatus = {
  id: string;
  state: "running" | "ended";
  /** Null while it runs, and if a signal ended it. */
  exitCode: number | null;
  signal: string | null;
  /** Why it ended, if it did not end by itself. */
  reason: "stopped" | "out of memory" | "output limit" | "lost" | null;
  usage: Usage;
  isolation: Isolation;
};

/** Processes in cages, for programs that do not use a hub. */
export type Cage = {
  readonly level: IsolationLevel;
  /** Resolves with the job's id once its program runs; rejects if it cannot be executed or caged. */
  startJob(command: readonly string[], limits?: LimitsText): Promise<string>;
  /** SIGTERM, some grace, then everything that it started is killed. Resolves when all of it has ended. */
  stopJob(id: string): Promise<void>;
  getStatus(id: string): JobStatus;
  /**
   * Yields the output from the first byte, and live until the job has ended. It may be called repeatedly and after the
   * end.
   */
  streamOutput(id: string, stream: OutputStream): AsyncIterable<Buffer>;
  /** Ends every job and removes their files. */
  close(): Promise<void>;
};

type Job = {
  dir: string;
  exited: Promise<ProcessExit>;
  terminator: Terminator<"stopped">;
  status: JobStatus;
};

const outputBytesMaxDefault = 1024 ** 3;
const stopGraceMsDefault = 5_000;
/** Only this many ended jobs are remembered; the files of older ones are removed. */
const endedMax = 1_000;
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Opens a sandbox for processes in cages. Needs Linux; for the full cage also root and cgroup v2. */
export async function openCage(options: OpenCageOptions): Promise<Cage> {
  await mkdir(options.dir, { recursive: true });
  const root = await mkdtemp(join(options.dir, `cage-${process.pid}-`));
  const sandbox = await openSandbox(options, root);
  await sweepDeadCages(options, sandbox);
  const jobs = new Map<string, Job>();
  const find = (id: string): Job => {
    const job = jobs.get(id);
    if (job === undefined) throw new WritError("NOT_FOUND", `there is no job ${id}`);
    return job;
  };
  return {
    level: sandbox.level,
    async startJob(command, limits = {}) {
      const { id, job } = await startJob(options, { sandbox, root }, { command, limits });
      jobs.set(id, job);
      void job.exited.then(() => forgetOldest(jobs));
      return id;
    },
    async stopJob(id) {
      const job = find(id);
      await job.terminator.stop("stopped", { graceMs: options.stopGraceMs ?? stopGraceMsDefault });
      await job.exited;
    },
    getStatus: (id) => ({ ...find(id).status }),
    streamOutput(id, stream) {
      const { dir, exited } = find(id);
      const ended = exited.then(() => {});
      return followFile({ path: join(dir, `${stream}.log`), offset: 0, ended: () => ended });
    },
    async close() {
      const stops = [...jobs.values()].map((job) => job.terminator.stop("stopped", { graceMs: 0 }));
      await Promise.allSettled(stops);
      await Promise.all([...jobs.values()].map((job) => job.exited));
      await sandbox.close();
      await removeCage(options, root);
    },
  };
}

async function openSandbox(
  { isolation, visiblePaths, logger }: OpenCageOptions,
  workDir: string,
): Promise<Sandbox> {
  const uid = process.getuid?.() ?? -1;
  if (isolation === "none") return openPlainSandbox({ workDir, uid });
  return CagedSandbox.open({
    level: isolation,
    workDir,
    visiblePaths,
    clock: systemClock,
    logger: logger ?? silentLogger,
    pid: process.pid,
    uid,
    // The program of the caller stays in its cgroup.
    mayMove: false,
  });
}

async function startJob(
  options: OpenCageOptions,
  { sandbox, root }: { sandbox: Sandbox; root: string },
  { command, limits }: { command: readonly string[]; limits: LimitsText },
): Promise<{ id: string; job: Job }> {
  if (command.length === 0) throw new WritError("INVALID_ARGUMENT", "command: must have at least one word");
  checkLimits(limits);
  const id = uuidV7(Date.now(), randomBytes(16));
  const dir = join(root, "jobs", id);
  const workDir = join(dir, "work");
  await mkdir(workDir, { recursive: true, mode: 0o700 });
  const running = await sandbox.start({
    jobId: id,
    attempt: 1,
    argv: [...command],
    env: { PATH: systemPath, HOME: "/tmp", JOB_ID: id },
    cwd: sandbox.workDirInside(workDir),
    stdoutFile: join(dir, "stdout.log"),
    stderrFile: join(dir, "stderr.log"),
    outputBytesMax: options.outputBytesMax ?? outputBytesMaxDefault,
    limits: resolveLimits(limits),
    asked: askedIn(limits),
    workDir,
  });
  if (running.pid === 0) {
    const { spawnError, lost } = await running.exited;
    throw new WritError(
      "INVALID_ARGUMENT",
      `${command[0]} cannot be executed: ${spawnError?.message ?? lost}`,
      {
        code: spawnError?.code,
      },
    );
  }
  const { isolation } = running;
  const status: JobStatus = {
    id,
    state: "running",
    exitCode: null,
    signal: null,
    reason: null,
    usage: {},
    isolation,
  };
  const terminator = createTerminator<"stopped">(running, systemClock);
  const exited = running.exited.then((exit) => {
    const { exitCode, signal, usage } = exit;
    Object.assign(status, {
      state: "ended",
      exitCode,
      signal,
      usage,
      reason: reasonOf(exit, terminator.reason),
    });
    return exit;
  });
  return { id, job: { dir, exited, terminator, status } };
}

function askedIn(limits: LimitsText): (keyof Limits)[] {
  return limitParts.filter((name) => limits[name] !== undefined).map((name) => limitKeys[name]);
}

function reasonOf(exit: ProcessExit, stopped: "stopped" | undefined): JobStatus["reason"] {
  if (stopped !== undefined) return stopped;
  if ((exit.lost ?? exit.unwritten) !== undefined) return "lost";
  if (exit.outputLimited) return "output limit";
  return exit.usage.oom === true ? "out of memory" : null;
}

function forgetOldest(jobs: Map<string, Job>): void {
  const ended = [...jobs].filter(([, job]) => job.status.state === "ended");
  for (const [id, job] of ended.slice(0, Math.max(0, ended.length - endedMax))) {
    jobs.delete(id);
    // A directory that is not empty is removed with the cage.
    void emptyDirectory(job.dir).then(() => rmdir(job.dir).catch(() => {}));
  }
}

/** Removes the files and cgroups of a killed program; its processes died with it. */
async function sweepDeadCages(options: OpenCageOptions, sandbox: Sandbox): Promise<void> {
  for (const name of await readdir(options.dir)) {
    const pid = /^cage-(\d+)-\w+$/.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const root = join(options.dir, name);
    // Without a jobs directory there is nothing to end.
    await sandbox.sweep(await readdir(join(root, "jobs")).catch(() => []));
    await removeCage(options, root);
  }
}

async function removeCage({ logger = silentLogger }: OpenCageOptions, root: string): Promise<void> {
  const left = await emptyDirectory(root);
  if (left.length > 0) logger.error({ dir: root, left }, "what jobs left behind cannot be removed");
  // Another program may have put a file there; the next cage tries again.
  else await rmdir(root).catch(() => {});
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}
