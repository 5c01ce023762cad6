import { AttemptSecrets } from "../../runners/attempt-secrets.ts";
import type { Runners } from "../../runners/create-runners.ts";
import { stopReasonOf } from "../../runners/runner.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import type { Failpoint } from "../../runtime/failpoint.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { Telemetry } from "../../runtime/telemetry/telemetry.ts";
import type { DiscardFolder } from "../../sandbox/discard-folder.ts";
import type { VerifyingKey } from "../../signing/ed25519.ts";
import type { TransferDeps } from "../../transfer/transfer-deps.ts";
import { giveUpJob, type HeldJob, type HeldJobs } from "../claims/held-jobs.ts";
import type { Ledger } from "../claims/ledger.ts";
import type { Heartbeat } from "../hub/heartbeat.ts";
import type { HubCalls } from "../hub/hub-calls.ts";
import type { RetryDeps } from "../hub/hub-presence.ts";
import type { WorkerSettings } from "../settings.ts";
import type { WorkLog } from "../work-log.ts";
import { Announcement } from "./announcement.ts";
import { attemptDirOf, jobWorkDirOf, removeAttemptDirs } from "./attempt-dir.ts";
import { AttemptOutput } from "./attempt-output.ts";
import { AttemptRun } from "./attempt-run.ts";
import { AttemptTrace } from "./attempt-trace.ts";
import { reportOutcome } from "./report-outcome.ts";
import type { ResultReporter } from "./report-results.ts";
import { StopNotice } from "./stop-notice.ts";

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
  /** Names this process: a lease that is bound to another process is not for this one. */
  bootId: string;
  held: HeldJobs;
  heartbeat: Pick<Heartbeat, "setProcess" | "catchUp" | "mayStart">;
  reporter: ResultReporter;
  discards: Pick<DiscardFolder, "discard">;
  /** Aborted when the worker ends for good. */
  quit: AbortSignal;
  /** Called for a fault of this machine and not of a job: the worker then claims nothing for a while. */
  onTrouble(error: unknown): void;
  /** Called when no process can be caged on this host at present. */
  onSandboxDown(reason: string): void;
};

/**
 * The second half of a job's path, for each job: run (guard → prepare → start → run → keep files) → ship → report → clean. Never
 * rejects. `receiveBatch` is the first half. Why: ADR 0006, ADR 0009.
 */
export async function runJob(deps: RunDeps, held: HeldJob, freeSlot: () => void): Promise<void> {
  const { lease } = held;
  const dir = attemptDirOf(deps.settings.workDir, lease);
  const jobDir = jobWorkDirOf(deps.settings.workDir, lease);
  const secrets = new AttemptSecrets();
  const output = new AttemptOutput(deps, held, { dir, bytesMax: deps.settings.outputBytesMax, secrets });
  const announcement = new Announcement(deps, held);
  const stopNotice = new StopNotice(deps, held);
  const trace = new AttemptTrace(deps.telemetry, deps.settings.workerId);
  try {
    held.phase = "running";
    const run = new AttemptRun(deps, held, { dir, jobDir, output, secrets, announcement, stopNotice, trace });
    const carried = await run.carryOut();
    const { isInProcess, startedAtMs } = run;
    // Masked before anything is hashed, signed or reported, for outcomes from every part of the worker.
    const outcome = secrets.maskOutcome(carried);
    const endedAtMs = deps.clock.nowMs();
    if (!isInProcess) deps.heartbeat.catchUp();
    held.phase = "ending";
    // Slots bound the files of processes on disk; a function has none, so its end frees its slot at once.
    if (isInProcess) freeSlot();
    if (stopReasonOf(held.stop.signal) === "lost") giveUpJob(held);

    await deps.failpoint("worker.afterRun");
    await output.finish();
    await announcement.whenIdle();
    await stopNotice.whenIdle();
    // A job whose process has begun must not expire in the queue, so the hub must know of the start.
    if (outcome.kind === "released" && !isInProcess && startedAtMs !== null) {
      // A hub that is away, or refuses it, does not stop the release.
      await announcement.make().catch(() => {});
    }
    await deps.failpoint("worker.beforeReport");
    const isUnannounced = !isInProcess && !announcement.isAccepted;
    const end = { startedAtMs, endedAtMs, output, isUnannounced };
    const report = await reportOutcome(deps, held, outcome, end);
    deps.workLog.ended(held, { outcome, startedAtMs, endedAtMs, report });
    trace.end(lease.attempt, { outcome, startedAtMs, endedAtMs, reportedAtMs: deps.clock.nowMs() });
    const hasDirs = output.hasFiles || !(isInProcess || run.isHomeRemoved);
    if (hasDirs) await removeAttemptDirs(deps.discards, dir, jobDir);
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
