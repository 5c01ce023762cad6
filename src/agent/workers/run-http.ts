import type { HttpWorkerClient } from "../../runners/http-worker/http-worker-client.ts";
import {
  failureOutcome,
  RunFailure,
  type RunOutcome,
  stoppedOutcome,
  stopReasonOf,
} from "../../runners/runner.ts";
import type { AgentDeps } from "../agent-deps.ts";
import { type AgentJob, type JobEnding, stopGraceMs } from "../agent-job.ts";
import { JobLogs } from "../logs/job-logs.ts";
import { endOfWorker, findWorker, stopWorker } from "./find-worker.ts";
import { isAlive } from "./process-identity.ts";
import { type WorkerState, wantedWorker, workerClient, workerSubject } from "./worker-state.ts";

/** Gives a job to the worker that serves its port, starting it if need be, and waits for the end of the job. */
export async function runHttp(deps: AgentDeps, job: AgentJob): Promise<JobEnding> {
  const { payload, signal } = job;
  if (payload.interface.kind !== "persistent_http") throw new Error("the job has no port");
  const wanted = wantedWorker(payload, payload.interface.port);
  let client: HttpWorkerClient | undefined;
  const outcome = await untilStopped(job, async () => {
    const worker = await findWorker(deps, wanted, signal);
    client = workerClient(deps, worker);
    await job.noteWorker(worker);
    deps.log.info({ job: payload.job_id, ...workerSubject(worker.port) }, `given to pid=${worker.pid}`);
    const logs = await JobLogs.open(job.files, job.masks);
    const end = await serve(deps, job, { worker, client, logs }).finally(() => logs.close());
    logs.check();
    return end;
  });
  return { outcome, exitCode: outcome.kind === "succeeded" ? 0 : 1, httpStatus: client?.lastStatus };
}

async function serve(
  deps: AgentDeps,
  job: AgentJob,
  { worker, client, logs }: { worker: WorkerState; client: HttpWorkerClient; logs: JobLogs },
): Promise<RunOutcome> {
  const { payload, files, lease } = job;
  const signal = AbortSignal.any([job.signal, logs.trouble]);
  const timeout = lease.timeout_sec === 0 ? {} : { timeoutMs: lease.timeout_sec * 1000 };
  const submission = {
    jobId: payload.job_id,
    jobClass: payload.job_class,
    inputJson: payload.inputJson,
    logOut: logs.out,
    logErr: logs.err,
    outputDir: files.output,
  };
  try {
    await client.submit(submission, signal);
    return await client.waitForEnd(payload.job_id, { ...timeout, signal });
  } catch (error) {
    if (!isAlive(worker) && !signal.aborted) throw await workerGone(deps, worker);
    if (mayBeRunning(error)) await cancelHttpJob(deps, worker, payload.job_id);
    logs.check();
    if (logs.trouble.aborted) return stoppedOutcome(stopReasonOf(logs.trouble), job);
    throw error;
  }
}

/** A job that the worker did not accept is not running there. */
function mayBeRunning(error: unknown): boolean {
  return !(error instanceof RunFailure) || error.detail !== "JOB_NOT_ACCEPTED";
}

/** Ends a job that may be running in its worker: by its own means, else with the whole worker. */
export async function cancelHttpJob(deps: AgentDeps, worker: WorkerState, jobId: string): Promise<void> {
  if (!isAlive(worker)) return;
  if (await workerClient(deps, worker).cancel(jobId, { withinMs: stopGraceMs })) return;
  const subject = { job: jobId, ...workerSubject(worker.port) };
  deps.log.error(subject, `stopped pid=${worker.pid}, because it does not end the job by itself`);
  await stopWorker(deps, worker);
}

async function workerGone(deps: AgentDeps, worker: WorkerState): Promise<RunFailure> {
  const reason = `the worker ${await endOfWorker(deps, worker)} while it had the job`;
  return new RunFailure("EXECUTION_ERROR", "WORKER_EXIT_ERROR", reason);
}

/** A failure that follows from stopping the job is not reported as one. */
async function untilStopped(job: AgentJob, act: () => Promise<RunOutcome>): Promise<RunOutcome> {
  try {
    return await act();
  } catch (error) {
    if (job.signal.aborted) return stoppedOutcome(stopReasonOf(job.signal), job);
    if (!(error instanceof RunFailure)) throw error;
    return failureOutcome(error);
  }
}
