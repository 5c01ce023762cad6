import type { JobDocument } from "../../contract/document.ts";
import { hasCode } from "../../core/errors.ts";
import { storagePolicyOf } from "../../core/storage-policy.ts";
import type { AttemptSecrets } from "../../runners/attempt-secrets.ts";
import {
  failureOutcome,
  type RunContext,
  RunFailure,
  type RunOutcome,
  type ShortRun,
  stoppedOutcome,
  stopReasonOf,
} from "../../runners/runner.ts";
import type { Timer } from "../../runtime/clock/clock.ts";
import type { Isolation } from "../../sandbox/sandbox.ts";
import { type HeldJob, loseJob, stopJob } from "../claims/held-jobs.ts";
import {
  type Announcement,
  announceAfterMs,
  holdOf,
  mayBeShort,
  mayStartUnannounced,
} from "./announcement.ts";
import { makeAttemptDirs } from "./attempt-dir.ts";
import type { AttemptOutput } from "./attempt-output.ts";
import type { AttemptTrace } from "./attempt-trace.ts";
import { fetchInputs } from "./fetch-inputs.ts";
import type { FileAttempt } from "./file-urls.ts";
import { jobTokenSource } from "./job-token-source.ts";
import { keepOutputs } from "./keep-outputs.ts";
import { readDocument } from "./read-document.ts";
import { AgentReporter } from "./report-agent.ts";
import { ProgressReporter } from "./report-progress.ts";
import type { RunDeps } from "./run-job.ts";
import type { StopNotice } from "./stop-notice.ts";

/** The parts of an attempt: its directories, and its reports to the hub. */
type AttemptParts = {
  dir: string;
  /** The job's own. */
  jobDir: string;
  output: AttemptOutput;
  secrets: AttemptSecrets;
  announcement: Announcement;
  stopNotice: StopNotice;
  trace: AttemptTrace;
};

/** The run of one attempt: the context of its runner, and the facts that the runner's callbacks record. */
export class AttemptRun {
  readonly #deps: RunDeps;
  readonly #held: HeldJob;
  readonly #parts: AttemptParts;
  readonly #progress: ProgressReporter;
  readonly #agent: AgentReporter;
  readonly #timers: Timer[] = [];
  /** When it started, by the monotonic clock. */
  #sinceMs = 0;
  #isolation: Isolation | undefined;
  #isInProcess = false;
  #startedAtMs: number | null = null;
  #isHomeRemoved = false;

  constructor(deps: RunDeps, held: HeldJob, parts: AttemptParts) {
    this.#deps = deps;
    this.#held = held;
    this.#parts = parts;
    this.#progress = new ProgressReporter(deps, held, () => parts.announcement.make());
    this.#agent = new AgentReporter(deps, held, () => parts.announcement.make());
  }

  /** Whether it is a function inside the worker, without a process of its own. */
  get isInProcess(): boolean {
    return this.#isInProcess;
  }

  /** Null if it has not started. */
  get startedAtMs(): number | null {
    return this.#startedAtMs;
  }

  /** The directory existed only while the process ran. */
  get isHomeRemoved(): boolean {
    return this.#isHomeRemoved;
  }

  /** Guard → prepare → start → run → keep files. Never rejects. */
  async carryOut(): Promise<RunOutcome> {
    try {
      const refusal = refusalToStart(this.#deps, this.#held);
      return refusal ?? (await this.#run(readDocument(this.#held.claim, this.#deps.settings)));
    } catch (error) {
      return outcomeOfError(this.#deps, this.#held, error);
    } finally {
      for (const timer of this.#timers) timer.cancel();
      this.#progress.stop();
    }
  }

  async #run(document: JobDocument): Promise<RunOutcome> {
    const { dir, jobDir, stopNotice } = this.#parts;
    const runner = this.#deps.runners.runnerFor(document.run.kind);
    this.#isInProcess = runner.isInProcess(document);
    const isShort = !this.#isInProcess && mayBeShort(document);
    if (this.#isInProcess) this.#startFunction(document);
    else if (!isShort) await makeAttemptDirs(dir, jobDir);
    this.#sinceMs = this.#deps.clock.monotonicMs();

    const files = this.#filesOf(document);
    const inputs = files && (await fetchInputs(this.#deps, files, { run: document.run, dir }));
    const outcome = await runner.run({
      ...this.#context(document),
      ...inputs,
      jobToken: files?.jobToken,
      onStarted: (isolation) => this.#onStarted(document, isolation, isShort),
      short: isShort ? this.#shortRun() : undefined,
    });
    stopNotice.makeLater(outcome);
    await this.#agent.finish();
    if (files === undefined || this.#isInProcess) return outcome;
    return keepOutputs(this.#deps, files, { document, outcome, dir, jobDir });
  }

  #startFunction(document: JobDocument): void {
    refuseFiles(document);
    this.#startedAtMs = this.#deps.clock.nowMs();
    this.#timers.push(this.#watchFunction());
  }

  /** The parts for fetching and keeping the files of a job that has some. */
  #filesOf(document: JobDocument): FileAttempt | undefined {
    if (storagePolicyOf(document) === null) return undefined;
    const jobToken = jobTokenSource(this.#deps, this.#held);
    return { held: this.#held, jobToken, signal: this.#stoppedOrGone() };
  }

  #context(document: JobDocument) {
    const { dir, jobDir, output, secrets, trace } = this.#parts;
    const { claim, lease, stop, hurry, key } = this.#held;
    return {
      document,
      signed: claim.document,
      lease,
      attemptDir: dir,
      workDir: jobDir,
      signal: stop.signal,
      hurry: hurry.signal,
      secrets,
      traceparent: trace.begin(document),
      onProcess: (pid, usage) => this.#deps.heartbeat.setProcess(key, pid, usage),
      writeOutput: (text: string) => output.write(text),
      writeTrace: (text: string) => output.writeTrace(text),
      reportProgress: (percent, detail) =>
        this.#progress.report(percent, detail === undefined ? undefined : secrets.maskMessage(detail)),
      reportCall: this.#deps.calls.accepts("agent") ? (call) => this.#agent.report(call) : undefined,
      readAllowance: this.#deps.calls.accepts("budget")
        ? () => this.#deps.calls.budget(lease, this.#stoppedOrGone())
        : undefined,
    } satisfies Partial<RunContext>;
  }

  async #onStarted(document: JobDocument, isolation: Isolation, isShort: boolean): Promise<void> {
    const { clock, failpoint } = this.#deps;
    this.#isolation = isolation;
    if (!mayStartUnannounced(document)) await this.#parts.announcement.make(isolation, this.#stoppedOrGone());
    this.#startedAtMs = clock.nowMs();
    this.#sinceMs = clock.monotonicMs();
    await failpoint("worker.started");
    if (!isShort) this.#watchProcess();
  }

  #shortRun(): ShortRun {
    return {
      hold: holdOf(this.#deps.held.size),
      onLong: () => this.#watchProcess(),
      onHeld: (output, isHomeRemoved) => {
        this.#parts.output.keepSmall(output);
        this.#isHomeRemoved = isHomeRemoved;
      },
    };
  }

  /** From here on the time and the output are watched, and the start is announced if the hub does not know it yet. */
  #watchProcess(): void {
    const { announcement, output } = this.#parts;
    const runningMs = this.#deps.clock.monotonicMs() - this.#sinceMs;
    const ms = Math.max(0, announceAfterMs - runningMs);
    this.#timers.push(announcement.makeLater(this.#isolation, { ms }));
    this.#timers.push(armTimeout(this.#deps, this.#held, runningMs));
    output.follow("stdout");
    output.follow("stderr");
  }

  /** A function that has run for a while is announced, and from then on its time is watched. */
  #watchFunction(): Timer {
    const onMade = (): void => {
      this.#timers.push(armTimeout(this.#deps, this.#held, announceAfterMs));
    };
    return this.#parts.announcement.makeLater(undefined, { onMade });
  }

  #stoppedOrGone(): AbortSignal {
    return AbortSignal.any([this.#held.stop.signal, this.#held.gone.signal]);
  }
}

/** Why an attempt that has waited for a slot must not start; null if it may. */
function refusalToStart({ heartbeat }: RunDeps, held: HeldJob): RunOutcome | null {
  const mayStart = heartbeat.mayStart(held.key);
  const { signal } = held.stop;
  if (signal.aborted) return stoppedOutcome(stopReasonOf(signal), held);
  return mayStart ? null : { kind: "released", reason: "its lease was not renewed before it could start" };
}

/** Refuses files for a function, which runs inside the worker without a directory. */
function refuseFiles({ run, type }: JobDocument): void {
  if (run.inputs === undefined && run.collect === undefined) return;
  const reason = `the handler of ${type} is a function of the worker's program, which has no input or output files`;
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

function armTimeout({ clock }: RunDeps, held: HeldJob, runningMs = 0): Timer {
  const { timeout_sec } = held.lease;
  if (timeout_sec === 0) return { cancel: () => {} };
  return clock.setTimer(() => stopJob(held, "timeout"), timeout_sec * 1000 - runningMs);
}

/**
 * The outcome of an error that is not the job's own: a refusal, a stop before the start, or a fault of this machine.
 */
function outcomeOfError(deps: RunDeps, held: HeldJob, error: unknown): RunOutcome {
  const { signal } = held.stop;
  if (hasCode(error, "LEASE_LOST")) loseJob(held, "hub");
  if (signal.aborted) return stoppedOutcome(stopReasonOf(signal), held);
  if (error instanceof RunFailure) return failureOutcome(error);
  deps.onTrouble(error);
  const what = error instanceof Error ? error.message : String(error);
  return { kind: "released", reason: `the worker could not run it: ${what}`.slice(0, 500).toWellFormed() };
}
