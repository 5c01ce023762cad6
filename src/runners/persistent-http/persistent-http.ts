import { type AskedLimits, SandboxUnavailable } from "../../sandbox/sandbox.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { jobInputOf } from "../job-input.ts";
import { maskOutcome } from "../mask-outcome.ts";
import { type RunContext, type Runner, type RunOutcome, stoppedOutcome, stopReasonOf } from "../runner.ts";
import { endOutcome } from "./end-outcome.ts";
import { serveJob } from "./serve-job.ts";
import { type PooledWorker, WorkerPool } from "./worker-pool.ts";
import { notReady, ProcessEnded, type WorkerDeps } from "./worker-process.ts";
import { type WorkerSpec, workerSpec } from "./worker-spec.ts";

/** Runs jobs in processes that are started once and then serve many jobs over HTTP. */
export function persistentHttpRunner(deps: WorkerDeps): Runner {
  const pool = new WorkerPool(deps);
  return {
    kind: "persistent_http",
    isInProcess: () => false,
    run: (context) => run(deps, pool, context),
    close: (hurry) => pool.close(hurry),
  };
}

async function run(deps: WorkerDeps, pool: WorkerPool, context: RunContext): Promise<RunOutcome> {
  const inputJson = canonicalize(jobInputOf(context));
  const spec = await workerSpec(deps.settings, context);
  try {
    return maskOutcome(await runOnWorker(deps, pool, { context, spec, inputJson }), spec.masks);
  } catch (error) {
    if (context.signal.aborted) return stoppedOutcome(stopReasonOf(context.signal), context);
    if (!(error instanceof SandboxUnavailable)) throw error;
    return { kind: "released", reason: error.message, isHostDown: error.isHostDown };
  }
}

type Job = { context: RunContext; spec: WorkerSpec; inputJson: string };

/** A process that turns out to be out of order is replaced once. */
async function runOnWorker(deps: WorkerDeps, pool: WorkerPool, job: Job): Promise<RunOutcome> {
  const { context, spec } = job;
  for (let isAnnounced = false; ; isAnnounced = true) {
    const worker = pool.take(spec);
    const { process } = worker;
    try {
      if (!isAnnounced) await announce(deps, context, { ...spec.asked, jobId: process.id });
      await untilAborted(process.whenReady(), context.signal);
      const problem = await process.findProblem(context.signal);
      if (problem === null) return await serve(deps, worker, job);
      // With jobs, it may only be busy.
      if (worker.serving > 0 || isAnnounced) throw notReady(problem);
      await process.stop(`it was not ready: ${problem}`, deps.settings.stopGraceMs);
    } catch (error) {
      if (!(error instanceof ProcessEnded)) throw error;
      const { stoppedBecause } = await process.gone;
      if (stoppedBecause === undefined || isAnnounced)
        return await endOutcome(process, context, "before it was ready");
    } finally {
      await pool.giveBack(worker);
    }
  }
}

async function announce(
  { sandbox }: WorkerDeps,
  { signal, onStarted }: RunContext,
  asked: AskedLimits & { jobId: string },
): Promise<void> {
  // Before the start is reported: a job that cannot be caged is given back as if it had never started.
  const isolation = await sandbox.probe(asked);
  signal.throwIfAborted();
  await onStarted(isolation);
}

async function serve(deps: WorkerDeps, worker: PooledWorker, job: Job): Promise<RunOutcome> {
  worker.serving++;
  try {
    return await serveJob(deps, worker.process, job.context, job.inputJson);
  } finally {
    worker.serving--;
  }
}

/** The signal's reason is thrown as soon as it is aborted; the others may go on waiting. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
