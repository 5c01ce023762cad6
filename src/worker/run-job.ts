import type { JobDocument } from "../contract/document.ts";
import type { ClaimedBatch } from "../contract/worker-shapes.ts";
import { hasCode } from "../core/errors.ts";
import { storagePolicyOf } from "../core/storage-policy.ts";
import { AttemptSecrets } from "../runners/attempt-secrets.ts";
import type { Runners } from "../runners/create-runners.ts";
import {
  failureOutcome,
  type RunContext,
  RunFailure,
  type RunOutcome,
  type ShortRun,
  stoppedOutcome,
  stopReasonOf,
} from "../runners/runner.ts";
import type { Clock, Timer } from "../runtime/clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Telemetry } from "../runtime/telemetry/telemetry.ts";
import type { DiscardFolder } from "../sandbox/discard-folder.ts";
import type { Isolation } from "../sandbox/sandbox.ts";
import type { VerifyingKey } from "../signing/ed25519.ts";
import type { VerifiedClaim } from "../signing/verify-claim.ts";
import type { TransferDeps } from "../transfer/transfer-deps.ts";
import { Announcement, announceAfterMs, holdOf, mayBeShort, mayStartUnannounced } from "./announcement.ts";
import { attemptDirOf, jobWorkDir, makeAttemptDir, removeAttemptDir } from "./attempt-dir.ts";
import { AttemptOutput } from "./attempt-output.ts";
import { AttemptTrace } from "./attempt-trace.ts";
import { fetchInputs } from "./fetch-inputs.ts";
import type { Heartbeat } from "./heartbeat.ts";
import { giveUpJob, type HeldJob, type HeldJobs, loseJob, loseOlderAttempts, stopJob } from "./held-jobs.ts";
import type { HubCalls } from "./hub-calls.ts";
import type { RetryDeps } from "./hub-presence.ts";
import { jobTokenSource } from "./job-token-source.ts";
import { keepOutputs } from "./keep-outputs.ts";
import type { Ledger, LedgerEntry } from "./ledger.ts";
import { readDocument } from "./read-document.ts";
import { refuseBatch } from "./refuse-batch.ts";
import { isForThisProcess, refuseReplay } from "./refuse-claim.ts";
import { releaseLease } from "./release-lease.ts";
import { reportOutcome } from "./report-outcome.ts";
import { ProgressReporter } from "./report-progress.ts";
import type { ResultReporter } from "./report-results.ts";
import type { WorkerSettings } from "./settings.ts";
import { StopNotice } from "./stop-notice.ts";
import { verifyClaims } from "./verify-claims.ts";
import type { WorkLog } from "./work-log.ts";

export type RunDeps = RetryDeps & {
  calls: HubCalls;
  transfer: TransferDeps;
  clock: Clock;
  logger: Logger;
  failpoint: Failpoint;
  settings: WorkerSettings;
  runners: Pick<Runners, "runnerFor">;
  trusted(): VerifyingKey[];
  /** Counts the cost of checking claims. */
  tally: { verifications: number };
  workLog: Pick<WorkLog, "claimed" | "ended">;
  ledger: Ledger;
  telemetry: Telemetry;
  /** Names this process: a lease that is bound to another one is not for us. */
  bootId: string;
  held: HeldJobs;
  heartbeat: Pick<Heartbeat, "setProcess" | "catchUp" | "mayStart">;
  reporter: ResultReporter;
  discards: Pick<DiscardFolder, "discard">;
  /** Aborted when the worker ends for good. */
  quit: AbortSignal;
  /** Something is wrong with this machine, not with a job: take no more work for a while. */
  onTrouble(error: unknown): void;
  /** No process can be caged here at present. */
  onSandboxDown(reason: string): void;
};

/**
 * The first half of a job's path, for a whole batch at once: verify → ledger. Nothing in a claim is trusted before its
 * signature has been checked. Nothing is executed before its attempt is safely recorded, unless its lease is bound to
 * this process, so that no later process would run it.
 */
export async function receiveBatch(deps: RunDeps, batch: ClaimedBatch): Promise<HeldJob[]> {
  const { workerId } = deps.settings;
  const { tally } = deps;
  const nowMs = deps.clock.nowMs();
  const verifier = { trusted: deps.trusted(), workerId, nowMs, tally };
  const sinceMs = deps.clock.monotonicMs();
  const verified = verifyClaims(verifier, batch);
  const verifyMs = deps.clock.monotonicMs() - sinceMs;
  if (verified.refusal !== null) {
    await refuseBatch(deps, batch, verified.refusal);
    return [];
  }
  for (const { lease, reason } of verified.returned) void releaseLease(deps, lease, reason, deps.quit);
  if (verified.unreadable > 0) {
    deps.logger.warn({ count: verified.unreadable }, "claims with an unreadable id were skipped");
  }
  const accepted = verified.accepted.filter(({ lease }) => isForThisProcess(deps, lease));
  const { isNew, saved } = deps.ledger.admit(accepted.map(ledgerEntry));
  const fresh = accepted.filter((claim, index) => isNew[index] || refuseReplay(deps, claim.lease));
  // Held before it is on disk, because the heartbeat must not wait for a slow disk.
  const held = fresh.map((claim) => deps.held.add(claim, nowMs));
  for (const { lease } of held) loseOlderAttempts(deps.held, lease);
  const returned = verified.returned.length;
  const refused = batch.jobs.length - held.length - returned;
  deps.workLog.claimed({ accepted: held, refused, returned, verifyMs });
  try {
    await saved;
    return held;
  } catch (error) {
    for (const job of held) void releaseHeld(deps, job, "the worker cannot write its ledger");
    deps.onTrouble(error);
    return [];
  }
}

/** The second half, for each job: guard → prepare → start → run → ship → report → clean. Never rejects. */
export async function runJob(deps: RunDeps, held: HeldJob, freeSlot: () => void): Promise<void> {
  const { lease } = held;
  const dir = attemptDirOf(deps.settings.workDir, lease);
  const secrets = new AttemptSecrets();
  const output = new AttemptOutput(deps, held, { dir, bytesMax: deps.settings.outputBytesMax, secrets });
  const announcement = new Announcement(deps, held);
  const stopNotice = new StopNotice(deps, held);
  const trace = new AttemptTrace(deps.telemetry, deps.settings.workerId);
  try {
    held.phase = "running";
    const place = { dir, output, secrets, announcement, stopNotice, trace, isHomeRemoved: false };
    const { outcome: carried, isInProcess, startedAtMs } = await carryOut(deps, held, place);
    // Before anything is hashed, signed or told, and whichever part of the worker the outcome comes from.
    const outcome = secrets.maskOutcome(carried);
    const endedAtMs = deps.clock.nowMs();
    if (!isInProcess) deps.heartbeat.catchUp();
    held.phase = "ending";
    // Only a process has something on disk, whose amount the slots bound; the end of a function frees its slot at once.
    if (isInProcess) freeSlot();
    if (stopReasonOf(held.stop.signal) === "lost") giveUpJob(held);

    await deps.failpoint("worker.afterRun");
    await output.finish();
    await announcement.settle();
    await stopNotice.settle();
    // A job whose process has begun does not expire in the queue, and the hub cannot know that otherwise.
    if (outcome.kind === "released" && !isInProcess && startedAtMs !== null)
      await announcement.make().catch(() => {});
    await deps.failpoint("worker.beforeReport");
    const isUnannounced = !isInProcess && !announcement.isAccepted;
    const end = { startedAtMs, endedAtMs, output, isUnannounced };
    const report = await reportOutcome(deps, held, outcome, end);
    deps.workLog.ended(held, { outcome, startedAtMs, endedAtMs, report });
    trace.end(lease.attempt, { outcome, startedAtMs, endedAtMs, reportedAtMs: deps.clock.nowMs() });
    if (output.hasFiles || !(isInProcess || place.isHomeRemoved)) await removeAttemptDir(deps.discards, dir);
  } catch (error) {
    deps.logger.error(
      { err: error, job_id: lease.job_id, attempt: lease.attempt },
      "an attempt could not be finished",
    );
    deps.onTrouble(error);
  } finally {
    deps.held.remove(held);
    freeSlot();
  }
}

type AttemptFiles = { dir: string; output: AttemptOutput; secrets: AttemptSecrets };
type AttemptPlace = AttemptFiles & {
  announcement: Announcement;
  stopNotice: StopNotice;
  trace: AttemptTrace;
  /** The directory was there only while the process ran. */
  isHomeRemoved: boolean;
};
type CarriedOut = { outcome: RunOutcome; isInProcess: boolean; startedAtMs: number | null };

async function carryOut(deps: RunDeps, held: HeldJob, place: AttemptPlace): Promise<CarriedOut> {
  const timers: Timer[] = [];
  const { announcement, secrets } = place;
  const progress = new ProgressReporter(deps, held, () => announcement.make());
  let isInProcess = false;
  let startedAtMs: number | null = null;
  try {
    const refusal = refusalToStart(deps, held);
    if (refusal !== null) return { outcome: refusal, isInProcess, startedAtMs };
    const document = readDocument(held.claim, deps.settings);
    const runner = deps.runners.runnerFor(document.run.kind);
    isInProcess = runner.isInProcess(document);
    if (isInProcess) refuseFiles(document);
    if (isInProcess) startedAtMs = deps.clock.nowMs();
    if (isInProcess) timers.push(watchFunction(deps, held, announcement));
    const isShort = !isInProcess && mayBeShort(document);
    if (!isInProcess && !isShort) await makeAttemptDir(place.dir);
    let isolated: Isolation | undefined;
    /** When it started, by the clock that nobody sets. */
    let sinceMs = deps.clock.monotonicMs();
    /** From here on its time and its output are watched, and the hub learns of a start that it does not know yet. */
    const watchProcess = (): void => {
      const runningMs = deps.clock.monotonicMs() - sinceMs;
      timers.push(announcement.makeLater(isolated, { ms: Math.max(0, announceAfterMs - runningMs) }));
      timers.push(armTimeout(deps, held, runningMs));
      place.output.follow("stdout");
      place.output.follow("stderr");
    };
    const jobToken = storagePolicyOf(document) === null ? undefined : jobTokenSource(deps, held);
    const attempt = jobToken && {
      held,
      jobToken,
      signal: AbortSignal.any([held.stop.signal, held.gone.signal]),
    };

    const outcome = await runner.run({
      ...contextOf(deps, held, place),
      ...(attempt && (await fetchInputs(deps, attempt, { run: document.run, dir: place.dir }))),
      document,
      traceparent: place.trace.begin(document),
      jobToken,
      reportProgress: (percent, detail) =>
        progress.report(percent, detail === undefined ? undefined : secrets.maskMessage(detail)),
      async onStarted(isolation) {
        isolated = isolation;
        if (!mayStartUnannounced(document))
          await announcement.make(isolation, AbortSignal.any([held.stop.signal, held.gone.signal]));
        startedAtMs = deps.clock.nowMs();
        sinceMs = deps.clock.monotonicMs();
        await deps.failpoint("worker.started");
        if (!isShort) watchProcess();
      },
      short: isShort ? shortRun(deps, place, watchProcess) : undefined,
    });
    place.stopNotice.makeLater(outcome);
    if (attempt === undefined || isInProcess) return { outcome, isInProcess, startedAtMs };
    return {
      outcome: await keepOutputs(deps, attempt, { document, outcome, dir: place.dir }),
      isInProcess,
      startedAtMs,
    };
  } catch (error) {
    return { outcome: outcomeOfError(deps, held, error), isInProcess, startedAtMs };
  } finally {
    for (const timer of timers) timer.cancel();
    progress.stop();
  }
}

/** Why an attempt that has waited for its turn must not start; null if it may. */
function refusalToStart({ heartbeat }: RunDeps, held: HeldJob): RunOutcome | null {
  const mayStart = heartbeat.mayStart(held.key);
  const { signal } = held.stop;
  if (signal.aborted) return stoppedOutcome(stopReasonOf(signal), held);
  return mayStart ? null : { kind: "released", reason: "its lease was not renewed before it could start" };
}

function shortRun(deps: RunDeps, place: AttemptPlace, onLong: () => void): ShortRun {
  return {
    hold: holdOf(deps.held.size),
    onLong,
    onHeld(output, isHomeRemoved) {
      place.output.keepSmall(output);
      place.isHomeRemoved = isHomeRemoved;
    },
  };
}

/** A function runs inside the worker, and nothing is prepared on disk for it. */
function refuseFiles({ run, type }: JobDocument): void {
  if (run.inputs === undefined && run.collect === undefined) return;
  const reason = `the handler of ${type} is a function of the worker's program, which has no input or output files`;
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

function contextOf(deps: RunDeps, held: HeldJob, { dir, output, secrets }: AttemptFiles) {
  return {
    signed: held.claim.document,
    lease: held.lease,
    attemptDir: dir,
    workDir: jobWorkDir(dir),
    signal: held.stop.signal,
    hurry: held.hurry.signal,
    secrets,
    onProcess: (pid, usage) => deps.heartbeat.setProcess(held.key, pid, usage),
    writeOutput: (text: string) => output.write(text),
    writeTrace: (text: string) => output.writeTrace(text),
  } satisfies Partial<RunContext>;
}

function armTimeout({ clock }: RunDeps, held: HeldJob, runningMs = 0): Timer {
  const { timeout_sec } = held.lease;
  if (timeout_sec === 0) return { cancel: () => {} };
  return clock.setTimer(() => stopJob(held, "timeout"), timeout_sec * 1000 - runningMs);
}

/** A function that has run for a while is announced, and from then on its time is watched. */
function watchFunction(deps: RunDeps, held: HeldJob, announcement: Announcement): Timer {
  let timeout: Timer | undefined;
  const onMade = (): void => {
    timeout = armTimeout(deps, held, announceAfterMs);
  };
  const timer = announcement.makeLater(undefined, { onMade });
  return {
    cancel: () => {
      timer.cancel();
      timeout?.cancel();
    },
  };
}

/**
 * Ends of a run that are not an outcome of the job itself: refusals, a stop before the start, trouble of this machine.
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

/** Gives back an attempt that was never started. */
export async function releaseHeld(deps: RunDeps, held: HeldJob, reason: string): Promise<void> {
  held.phase = "ending";
  await releaseLease(deps, held.lease, reason, held.gone.signal);
  deps.held.remove(held);
}

function ledgerEntry({ lease }: VerifiedClaim): LedgerEntry {
  const { job_id: jobId, attempt, expires_at_ts: expiresAtTs, boot_id } = lease;
  return { jobId, attempt, expiresAtTs, isBound: boot_id !== undefined };
}
