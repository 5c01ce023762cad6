import { onDisconnectOf } from "../../core/jobs/document.ts";
import type { HttpWorkerClient } from "../http-worker/http-worker-client.ts";
import {
  type RunContext,
  RunFailure,
  type RunnerDeps,
  type RunOutcome,
  type StopReason,
  stoppedOutcome,
  stopReasonOf,
} from "../runner.ts";
import { endOutcome } from "./end-outcome.ts";
import { JobFolder } from "./job-folder.ts";
import { lastWords } from "./worker-logs.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** A job whose lease is lost may already run elsewhere, so there is little time to end it without the other jobs. */
const lostCancelMs = 1_000;
/** When a request fails because the process has died, its end is known within this time. */
const deathMs = 1_000;

/** Lets a process that is ready serve one job. Nothing of the job runs there when it resolves. */
export async function serveJob(
  deps: RunnerDeps,
  process: WorkerProcess,
  context: RunContext,
  inputJson: string,
): Promise<RunOutcome> {
  const output = new AbortController();
  let unwritable: string | undefined;
  const folder = await JobFolder.hand({
    attemptDir: context.attemptDir,
    sharedDir: process.sharedDir,
    sharedDirInside: process.sharedDirInside,
    name: `${context.lease.job_id}-${context.lease.attempt}`,
    inputsDir: context.inputsDir,
    fifos: process.fifos,
    outputBytesMax: deps.settings.outputBytesMax,
    masks: process.spec.masks,
    onLimit: () => output.abort("output" satisfies StopReason),
    onUnwritable: (reason) => {
      unwritable = reason;
      output.abort("drain" satisfies StopReason);
    },
  });
  // Work that must not run twice at a time takes the whole process with it, even when this one hangs.
  if (onDisconnectOf(context.document) === "stop") context.onProcess(process.running?.pid ?? 0);
  try {
    const signal = AbortSignal.any([context.signal, output.signal]);
    const outcome = await carryOut(deps, process, { context, signal, inputJson, paths: folder.paths });
    return unwritable === undefined ? outcome : { kind: "released", reason: unwritable };
  } finally {
    context.onProcess(0);
    await folder.takeBack(context.workDir);
  }
}

type Job = {
  context: RunContext;
  signal: AbortSignal;
  inputJson: string;
  paths: JobFolder["paths"];
};

async function carryOut(deps: RunnerDeps, process: WorkerProcess, job: Job): Promise<RunOutcome> {
  const { context, signal } = job;
  const over = new AbortController();
  const conversation = converse(process.client, job, AbortSignal.any([signal, over.signal]));
  // The race below handles its error; after a stop it has no listener.
  conversation.catch(() => {});
  try {
    const end = await Promise.race([conversation, process.gone.then(() => undefined)]);
    if (end === undefined) return await endOutcome(process, context, "in the middle of the job");
    const isolation = process.running?.isolation;
    return isolation === undefined ? end : { ...end, isolation };
  } catch (error) {
    if (signal.aborted) return await stopJob(deps, process, job);
    if (!(error instanceof RunFailure)) throw error;
    return await failJob(deps, process, job, error);
  } finally {
    over.abort();
  }
}

async function converse(client: HttpWorkerClient, job: Job, signal: AbortSignal) {
  const { lease, document, reportProgress } = job.context;
  const jobId = lease.job_id;
  await client.submit({ jobId, jobClass: document.type, inputJson: job.inputJson, ...job.paths }, signal);
  return client.waitForEnd(jobId, {
    timeoutMs: lease.timeout_sec * 1000,
    signal,
    onProgress: ({ percent, detail }) => reportProgress(percent, detail),
  });
}

/** The job was ended from outside. */
async function stopJob(
  deps: RunnerDeps,
  process: WorkerProcess,
  { context, signal }: Job,
): Promise<RunOutcome> {
  const reason = stopReasonOf(signal);
  const { stopGraceMs } = deps.settings;
  const options =
    reason === "lost" ? { withinMs: lostCancelMs } : { withinMs: stopGraceMs, signal: context.hurry };
  const isHurried = reason === "lost" || context.hurry.aborted;
  await endJob(process, context, { ...options, graceMs: isHurried ? 0 : stopGraceMs });
  const outcome = stoppedOutcome(reason, context);
  return outcome.kind === "failed" ? { ...outcome, ...isolationOf(process) } : outcome;
}

/**
 * Fails a job that the worker process refused, or answered with nonsense. The job may be running there nevertheless.
 */
async function failJob(
  { clock, settings }: RunnerDeps,
  process: WorkerProcess,
  { context }: Job,
  failure: RunFailure,
): Promise<RunOutcome> {
  const { code, detail } = failure;
  let reason = failure.message;
  // In both cases the process did not accept the job: it refused it, or another program is on the port and nothing was
  // sent.
  if (detail !== "JOB_NOT_ACCEPTED" && detail !== "WORKER_NOT_READY") {
    const enough = new AbortController();
    // The end of the process ends this wait.
    await Promise.race([process.gone, clock.sleep(deathMs, enough.signal).catch(() => {})]);
    enough.abort();
    if (process.isOver) return endOutcome(process, context, "in the middle of the job");
    reason += await lastWords(process.logs);
    const { stopGraceMs: graceMs } = settings;
    await endJob(process, context, { withinMs: graceMs, graceMs, signal: context.hurry });
  }
  return {
    kind: "failed",
    code,
    ...(detail === undefined ? {} : { detail }),
    reason,
    ...isolationOf(process),
  };
}

/** Ends a job without the others if its worker can do that, else with the process. */
async function endJob(
  process: WorkerProcess,
  { lease }: RunContext,
  { withinMs, graceMs, signal }: { withinMs: number; graceMs: number; signal?: AbortSignal },
): Promise<void> {
  const cancelled = process.client.cancel(lease.job_id, { withinMs, ...(signal && { signal }) });
  // A cancel that fails has not ended the job.
  const hasEnded = await Promise.race([cancelled.catch(() => false), process.gone.then(() => true)]);
  if (!hasEnded) {
    await process.stop("the worker process was restarted to end another of its jobs", graceMs);
  }
}

function isolationOf({ running }: WorkerProcess) {
  return running === undefined ? {} : { isolation: running.isolation };
}
