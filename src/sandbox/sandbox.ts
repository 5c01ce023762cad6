import type { Server } from "node:net";
import type { AgentUse } from "../core/agents/agent-use.ts";
import { sandboxUnavailable } from "../core/jobs/failure.ts";
import type { SmallOutput } from "../core/jobs/small-output.ts";
import type { Limits } from "../core/limits.ts";
import type { PlannedHome } from "./launcher/launcher-protocol.ts";

export const isolationLevels = ["strict", "best-effort", "none"] as const;
/** How much of a cage a worker insists on. */
export type IsolationLevel = (typeof isolationLevels)[number];

/** The isolation of a job from its host, as recorded on the job. */
export type Isolation = {
  level: IsolationLevel | "in-process" | "container";
  applied: string[];
  missing: { part: string; why: string }[];
  /** Where its cgroup is while it runs. */
  cgroup?: string;
  /** Of a closed network: what was allowed, and what was asked for. */
  network?: ClosedNetworkRecord;
};

export type ClosedNetworkRecord = {
  allow: string[];
  inject?: string[];
  allowed: { host: string; requests: number }[];
  denied: { host: string; why: string; requests: number }[];
};

/** The limits of a process, and which of them may not be left out. */
export type AskedLimits = {
  limits: Limits;
  /** The limits that the job requests or the worker's ceiling sets; the others are only defaults. */
  asked: readonly (keyof Limits)[];
};

/** A directory or file of the host that one job sees, in addition to what every job sees. */
export type JobMount = {
  /** A directory of the host, with everything mounted beneath it, or a plain file. The path may not contain links. */
  source: string;
  /** The path in the cage. Missing directories on the way are created, except inside a read-only mount. */
  target: string;
  access: "read-only" | "writable";
  /**
   * The owner of the source. Inside the cage this owner appears as the job's own user: the job may do there what the
   * owner may, and new files belong to the owner. Without it the job accesses the files as uid 65534.
   */
  idmapped?: { uid: number; gid: number };
  /** Programs in it cannot be executed. False by default: repositories contain scripts. */
  noexec?: boolean;
};

/** The limits and mounts that a process needs. */
export type Asked = AskedLimits & {
  /** How long it may run; undefined or 0 for no limit. */
  timeoutSec?: number | undefined;
  /** Made in this order: a mount may be inside one that comes before it. They need the part `jail`. */
  mounts?: readonly JobMount[] | undefined;
};

/** Everything that a process is started from. Nothing else of the worker reaches it. */
export type LaunchPlan = Asked & {
  jobId: string;
  attempt: number;
  argv: string[];
  /** The whole environment, not an addition to one. */
  env: Record<string, string>;
  /** As seen by the process. */
  cwd: string;
  /** On the host, and must not exist yet; the output of the process is written into them, and it cannot access them. */
  stdoutFile: string;
  stderrFile: string;
  /** For each of the two streams. */
  outputBytesMax: number;
  /** Texts that are overwritten with `*` in both streams, so that these contain no secret. */
  masks?: readonly string[] | undefined;
  /** What the process reads on its standard input, at most 64 KiB (default: nothing). */
  stdin?: Uint8Array | undefined;
  /** The same from a file on the host, of any size and readable for every user; not with `stdin`. */
  stdinFile?: string | undefined;
  /** The job's own directory, on the host. */
  workDir: string;
  /** If set, neither this nor the directory of the output exists yet, and the sandbox makes them. */
  home?: PlannedHome | undefined;
  /**
   * How long the output may be held in memory. A process that ends meanwhile is known only by its end, which then contains
   * its output: no file was written.
   */
  holdMs?: number | undefined;
  /** How long at most after its first byte, for which a person may be waiting; with `holdMs` only. */
  holdWrittenMs?: number | undefined;
  /** What answers on a port of the loopback in the network of the process; for a closed network, and only there. */
  listener?: NetworkListener | undefined;
};

/** Called at most once, with a socket that listens already; its taker closes it. */
type NetworkListener = { port: number; take(server: Server): void };

/** The usage as far as the kernel counts it. Present values exist only for a running process. */
export type Usage = {
  cpu_ms?: number;
  /** Now. */
  memory_bytes?: number;
  memory_peak_bytes?: number;
  oom?: boolean;
  /** Now, threads included: what the limit on processes counts. */
  pids?: number;
  pids_peak?: number;
  io_read_bytes?: number;
  io_write_bytes?: number;
  /** Of a closed network. */
  network?: { requests: number; denied: number; bytes: number };
  /** As a coding agent reports it. */
  agent?: AgentUse;
};

export type SpawnError = {
  /** ENOENT, EACCES … as reported by the kernel. */
  code: string;
  message: string;
};

export type ProcessExit = {
  /** Null if a signal ended the process, or if it was never started. */
  exitCode: number | null;
  signal: string | null;
  usage: Usage;
  /** The process could not be started at all. */
  spawnError?: SpawnError;
  /** It wrote more than it may and was ended for that. */
  outputLimited: boolean;
  /** Set if the launcher died, so that its end, and even its start, is unknown. */
  lost?: string;
  /** It was ended because this host could not write its output. */
  unwritten?: string;
  /** All of its output, if that was held until its end; else it is in the files. */
  output?: SmallOutput;
  /** Whether its home was removed, because the process has left nothing there. */
  isHomeRemoved?: boolean;
};

export type RunningProcess = {
  /** Killing it, or the group that it leads, ends the process; 0 if it could not be started, or has ended. */
  readonly pid: number;
  /** Resolves when the process and all its descendants are gone; never rejects. */
  readonly exited: Promise<ProcessExit>;
  readonly isolation: Isolation;
  /** What it has used so far, as far as the kernel counts that. */
  usage(): Usage;
  /** Its living processes, as this worker numbers them. */
  pids(): Promise<readonly number[]>;
  /** A process that has already ended is not an error. */
  signalGroup(signal: NodeJS.Signals): void;
  /**
   * Ends everything that the process started, and returns when the signal was sent; `exited` resolves when it has
   * ended.
   */
  killTree(): Promise<void>;
};

/**
 * The interface by which a worker starts processes. Runners use only this, so that a cage can replace a plain start.
 */
export type Sandbox = {
  readonly level: IsolationLevel;
  /** Set for a sandbox that starts no processes at all. */
  readonly startsNone?: boolean;
  /** The parts of a cage that this host lacks, as far as is known. */
  readonly lacking?: readonly { part: string; why: string }[];
  /** Why no process can be started here, as far as is known; null when one can. */
  readonly obstacle: string | null;
  /** How many processes it runs at once; undefined if only the host limits that. */
  readonly processesMax?: number | undefined;
  /** The isolation that a process would get. Rejects with SandboxUnavailable if that is too little. */
  probe(asked: Asked & { jobId?: string }): Promise<Isolation>;
  /** The path of its own directory as a process sees it. */
  workDirInside(workDir: string): string;
  /** Rejects with SandboxUnavailable if the process cannot be isolated as required; then nothing was executed. */
  start(plan: LaunchPlan): Promise<RunningProcess>;
  /** Tries the host again: null if processes can be started here, else why not. */
  recheck(): Promise<string | null>;
  /** Ends processes of these jobs that an earlier worker has left. */
  sweep(jobIds: readonly string[]): Promise<void>;
  /** Ends everything that still runs. */
  close(): Promise<void>;
};

/** The longest reason that the hub accepts. */
const reasonCharsMax = 500;

/** This host cannot isolate a process as required. The job is released, because it is not at fault. */
export class SandboxUnavailable extends Error {
  /** Whether no process may be claimed here until the host was tried again; otherwise only this job is concerned. */
  readonly isHostDown: boolean;

  constructor(reason: string, { isHostDown }: { isHostDown: boolean }) {
    super(`${sandboxUnavailable}: ${reason}`.slice(0, reasonCharsMax).toWellFormed());
    this.name = "SandboxUnavailable";
    this.isHostDown = isHostDown;
  }
}
