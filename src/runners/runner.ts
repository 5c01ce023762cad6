import type { JobDocument } from "../contract/document.ts";
import type { RunKind } from "../contract/kinds.ts";
import type { Allowance } from "../core/agents/agent-budget.ts";
import type { AgentCall } from "../core/agents/agent-use.ts";
import { type FailureClass, type FailureDetail, notStarted } from "../core/jobs/failure.ts";
import type { OutputFile } from "../core/jobs/output-file.ts";
import type { SmallOutput } from "../core/jobs/small-output.ts";
import type { LimitsText } from "../core/limits.ts";
import type { JsonObject } from "../core/text/json-value.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import type { Network } from "../runtime/guarded-fetch/guarded-lookup.ts";
import type { Logger } from "../runtime/log/logger.ts";
import type { Isolation, Sandbox, Usage } from "../sandbox/sandbox.ts";
import type { Lease } from "../signing/lease.ts";
import type { AttemptSecrets } from "./attempt-secrets.ts";
import type { DelegateSettings } from "./delegate/delegate-settings.ts";

/** The code that knows how to run one kind of job. */
export type Runner = {
  readonly kind: RunKind;
  /** True if the job runs inside the worker: then nothing is prepared on disk and no process is announced. */
  isInProcess(document: JobDocument): boolean;
  /** Called once, before the first job. Rejects if the worker cannot run this kind with its settings. */
  open?(): Promise<void>;
  /** Nothing of the job is still running when it resolves, whatever the outcome. */
  run(context: RunContext): Promise<RunOutcome>;
  /**
   * For runners with state between jobs, for example a process that serves many of them. Called once, after the last
   * run has ended or was given up; resolves when everything that the runner kept has ended. When `hurry` is aborted,
   * there is no time left for any grace.
   */
  close?(hurry: AbortSignal): Promise<void>;
};

/** What a runner is created with and keeps; what belongs to one attempt is in the RunContext. */
export type RunnerDeps = {
  settings: RunnerSettings;
  sandbox: Sandbox;
  clock: Clock;
  logger: Logger;
  /** How closed networks reach the world; by default by this machine's resolver, trusting what Node trusts. */
  outside?: Outside | undefined;
};

type Outside = { network: Network; ca?: readonly string[] | undefined };

/** Why an attempt is ended from outside; it is the reason of the context's signal, and the first one wins. */
export type StopReason = "cancelled" | "timeout" | "lost" | "drain" | "output";

/** One attempt of one job. */
export type RunContext = {
  document: JobDocument;
  /** The same document as parsed from the signed bytes, with its decimals as they were written. */
  signed: JsonObject;
  lease: Lease;
  /** For the process: the parent of its own spans; undefined without tracing. */
  traceparent?: string | undefined;
  /** Contains stdout.log and stderr.log. */
  attemptDir: string;
  /** The job's own directory, below the attempt's. */
  workDir: string;
  /** The job's input files, each readable for every user; undefined when it has none. Not inside `workDir`. */
  inputsDir?: string | undefined;
  /** The file with the job's standard input, if its document names one. */
  stdinFile?: string | undefined;
  /** Aborted with a StopReason: end the job, with the grace that the settings give. */
  signal: AbortSignal;
  /** Aborted when there is no time left for any grace; never before `signal`. */
  hurry: AbortSignal;
  /** For the job's files at the hub; undefined when the document has neither an output_location nor inputs. */
  jobToken: JobTokenSource | undefined;
  /** Set if the process may be over in a moment. */
  short?: ShortRun | undefined;
  /** The secrets to mask in all reports of the attempt. A runner adds every secret that it passes to the job. */
  secrets: AttemptSecrets;
  /** Reports to the hub that the attempt starts. If it rejects, nothing may be executed. */
  onStarted(isolation: Isolation): Promise<void>;
  /**
   * Tells the lease keeper which process, or process group, dies with the lease, and how to ask what it has used; 0 when
   * there is none any more.
   */
  onProcess(pid: number, usage?: () => Usage): void;
  reportProgress(percent: number, detail?: string): void;
  /** Reports a call of the job's coding agent; undefined if the hub takes no such reports. */
  reportCall?: ((call: AgentCall) => void) | undefined;
  /** How much its coding agent may report; undefined if the hub does not limit that. */
  readAllowance?: (() => Promise<{ job?: Allowance; tenant?: Allowance }>) | undefined;
  /** Adds to the job's stdout, for jobs that have no process of their own. */
  writeOutput(text: string): void;
  /** Adds where it has failed to the job's stderr, once, as its last lines. For the same jobs. */
  writeTrace(text: string): void;
};

/**
 * A process that may be over in a moment. Nothing is prepared on disk for it: its sandbox makes the directories, and may
 * hold the output until it knows better. One of the two is called, unless nothing was started.
 */
export type ShortRun = {
  /** How long its output may be held, and how long once there is some. */
  hold: { holdMs: number; holdWrittenMs: number };
  /** It still runs. From now on its output is in the files. */
  onLong(): void;
  /** It has ended, and this is all of its output; there are no files. */
  onHeld(output: SmallOutput, isHomeRemoved: boolean): void;
};

/**
 * Job tokens: any holder of one can use the job's files until it expires. It belongs in request headers, and on the
 * standard input of a program that needs it; never in a log, a command line, or an environment that the job can read.
 */
export type JobTokenSource = {
  /** A token that is valid for some time yet. Rejects when the lease is lost. */
  get(): Promise<string>;
  /** A newly issued token, for when the hub has refused the last one, for example because its key was revoked. */
  renew(): Promise<string>;
};

/** The part of a worker's settings that concerns runners. */
export type RunnerSettings = {
  stopGraceMs: number;
  outputBytesMax: number;
  /** The limits for jobs that set none, and the ceiling for those that do. */
  limits: LimitsText;
  maxLimits: LimitsText;
  /** Commands for types of `handler` jobs. */
  handlers: Readonly<Record<string, readonly string[]>>;
  secrets: Readonly<Record<string, SecretEntry>>;
  /** What jobs with a closed network may reach; undefined if the file does not say. */
  egress?: { allow: readonly string[] } | undefined;
  /** None by default. */
  containers?: ContainerSettings;
  /** Undefined: the worker runs no delegate jobs. */
  delegate?: DelegateSettings | undefined;
};

export type SecretEntry = {
  file: string;
  tenants: readonly string[];
  /** Never given to a job: the worker adds it to requests to this host. */
  inject?: { host: string; header: string; format?: string | undefined } | undefined;
};

export type ContainerSettings = {
  /** The containers that jobs may name, each with the command that leads into it. */
  byName: Readonly<Record<string, { exec: readonly string[] }>>;
  /** The environment of those commands. */
  env: Readonly<Record<string, string>>;
  /** Where an agent in a container puts the files of its job, and the authority that signed its certificate. */
  hubUrl: string;
  ca: string | undefined;
};

/** The facts of an attempt, for every kind of end. */
type EndFacts = {
  exitCode?: number;
  usage?: Usage;
  isolation?: Isolation;
  /** The files that it has put into storage, whether or not it succeeded; each key at most once. */
  outputFiles?: readonly OutputFile[];
};

/** Results are JSON text that was parsed strictly once, so that it can be passed on byte for byte. */
export type RunOutcome =
  | (EndFacts & { kind: "succeeded"; resultJson: string })
  | (EndFacts & {
      kind: "failed";
      code: FailureClass;
      detail?: FailureDetail;
      /** The code that a function gave its error; the hub keeps it as the detail if there is no other. */
      ownCode?: string;
      /** Another attempt cannot help. */
      isFinal?: true;
      /** When the next attempt is to start, if there is one. */
      retryInSec?: number;
      reason: string;
      /** The code that a worker program gave the failure itself; then `reason` begins with it and a colon. */
      workerCode?: string;
      partialResultJson?: string;
    })
  | {
      kind: "released";
      reason: string;
      /** Whether no process may be claimed here until the host was tried again. */
      isHostDown?: boolean;
    };

/** Thrown by a runner or its helpers; it becomes the outcome `failed`. */
export class RunFailure extends Error {
  readonly code: FailureClass;
  readonly detail: FailureDetail | undefined;
  readonly workerCode: string | undefined;

  constructor(
    code: FailureClass,
    detail: FailureDetail | undefined,
    reason: string,
    { workerCode }: { workerCode?: string | undefined } = {},
  ) {
    super(reason);
    this.name = "RunFailure";
    this.code = code;
    this.detail = detail;
    this.workerCode = workerCode;
  }
}

export function failureOutcome({ code, detail, message, workerCode }: RunFailure): RunOutcome {
  return {
    kind: "failed",
    code,
    ...(detail === undefined ? {} : { detail }),
    reason: message,
    ...(workerCode === undefined ? {} : { workerCode }),
  };
}

/** The part of an attempt that says how long it may run. */
export type TimedAttempt = { lease: Pick<Lease, "timeout_sec"> };

/** The outcome of a job that was ended from outside. */
export function stoppedOutcome(reason: StopReason, context: TimedAttempt): RunOutcome {
  switch (reason) {
    case "cancelled":
      return { kind: "failed", code: "CANCELLED", reason: "cancelled" };
    case "timeout":
      return { kind: "failed", code: "TIMEOUT", reason: `ran longer than ${context.lease.timeout_sec} s` };
    case "output":
      return { kind: "failed", code: "EXECUTION_ERROR", detail: "OUTPUT_LIMIT", reason: outputLimitReason };
    case "lost":
      return { kind: "released", reason: "the lease was lost" };
    case "drain":
      return { kind: "released", reason: "the worker is stopping" };
  }
}

/** The start was reported, but nothing was executed: a job that is allowed one attempt still has it. */
export function notBegun(outcome: RunOutcome): RunOutcome {
  if (outcome.kind !== "released") return outcome;
  return { ...outcome, reason: `${notStarted}: ${outcome.reason}` };
}

export const outputLimitReason = "wrote more than the output limit allows";

/** The reason of a signal that the worker has aborted. */
export function stopReasonOf(signal: AbortSignal): StopReason {
  return signal.reason as StopReason;
}
