import type { Limits } from "../core/limits.ts";

/** How far apart a job is kept from its host, as it is recorded on the job. */
export type Isolation = {
  level: "strict" | "best-effort" | "none" | "in-process";
  applied: string[];
  missing: { part: string; why: string }[];
};

/** Everything that a process is started from. Nothing else of the worker reaches it. */
export type LaunchPlan = {
  jobId: string;
  attempt: number;
  argv: string[];
  /** The whole environment, not an addition to one. */
  env: Record<string, string>;
  /** As the process sees it. */
  cwd: string;
  /** On the host; the process writes into them and cannot name them. */
  stdoutFile: string;
  stderrFile: string;
  /** For each of the two streams. */
  outputBytesMax: number;
  limits: Limits;
  /** The job's own directory, on the host. */
  workDir: string;
};

export type Usage = { cpu_ms?: number; memory_peak_bytes?: number; oom?: boolean };

export type SpawnError = {
  /** ENOENT, EACCES … as the kernel gave it. */
  code: string;
  message: string;
};

export type ProcessExit = {
  /** Null when a signal ended the process, or when there never was one. */
  exitCode: number | null;
  signal: string | null;
  usage: Usage;
  /** The process could not be started at all. */
  spawnError?: SpawnError;
  /** It said more than it may and was ended for that. */
  outputLimited: boolean;
};

export type RunningProcess = {
  /** Also the id of its process group; 0 when it could not be started. */
  readonly pid: number;
  /** Comes when the process and all that it left behind are gone; never rejects. */
  readonly exited: Promise<ProcessExit>;
  readonly isolation: Isolation;
  /** A process that has gone already is no error. */
  signalGroup(signal: NodeJS.Signals): void;
  /** Ends everything that the process started, and returns when it was told to; `exited` says that it is over. */
  killTree(): Promise<void>;
};

/** The way a worker starts processes. Runners know only this, so a cage can take the place of a plain start. */
export type Sandbox = {
  readonly level: Isolation["level"];
  /** What a process would get, known before it is started. */
  probe(): Promise<Isolation>;
  /** Where a process finds its own directory. */
  workDirInside(workDir: string): string;
  start(plan: LaunchPlan): Promise<RunningProcess>;
};
