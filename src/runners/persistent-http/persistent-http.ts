import { untilAborted } from "../../runtime/clock/until-aborted.ts";
import { type AskedLimits, SandboxUnavailable } from "../../sandbox/sandbox.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { jobInputOf } from "../job-input.ts";
import {
  notBegun,
  type RunContext,
  type Runner,
  type RunOutcome,
  stoppedOutcome,
  stopReasonOf,
} from "../runner.ts";
import { endOutcome } from "./end-outcome.ts";
import { findProblem } from "./find-problem.ts";
import { RunningList } from "./running-list.ts";
import { serveJob } from "./serve-job.ts";
import { lastWords } from "./worker-logs.ts";
import { type PooledWorker, WorkerPool } from "./worker-pool.ts";
import { notReady, ProcessEnded, type WorkerDeps, type WorkerProcess } from "./worker-process.ts";
import { type WorkerSpec, workerSpec } from "./worker-spec.ts";

/** Runs jobs in processes that are started once and then serve many jobs over HTTP. Why: ADR 0044. */
export function persistentHttpRunner(given: Omit<WorkerDeps, "list">): Runner {
  const deps = { ...given, list: new RunningList(given.logDir, given.logger) };
  const pool = new WorkerPool(deps);
  return {
    kind: "persistent_http",
    isInProcess: () => false,
    run: (context) => run(deps, pool, context),
    async close(hurry) {
      await pool.close(hurry);
      await deps.list.written;
    },
  };
}

async function run(deps: WorkerDeps, pool: WorkerPool, context: RunContext): Promise<RunOutcome> {
  const inputJson = canonicalize(jobInputOf(context));
  const spec = await workerSpec(deps.settings, context);
  const job: Job = { context, spec, inputJson, waitsFor: undefined, isGiven: false };
  try {
    return await runOnWorker(deps, pool, job);
  } catch (error) {
    if (context.signal.aborted) return stopped(job);
    if (!(error instanceof SandboxUnavailable)) throw error;
    return { kind: "released", reason: error.message, isHostDown: error.isHostDown };
  }
}

type Job = {
  context: RunContext;
  spec: WorkerSpec;
  inputJson: string;
  /** The process that should serve it. */
  waitsFor: WorkerProcess | undefined;
  /** Whether a process may have begun with it. */
  isGiven: boolean;
};

async function stopped({ context, isGiven, waitsFor }: Job): Promise<RunOutcome> {
  const outcome = stoppedOutcome(stopReasonOf(context.signal), context);
  if (isGiven) return outcome;
  const problem = waitsFor?.client.lastProblem ?? null;
  if (outcome.kind !== "failed" || outcome.code !== "TIMEOUT" || waitsFor === undefined || problem === null)
    return notBegun(outcome);
  // The whole time may have passed in waiting for a process that never became ready.
  const reason = `${outcome.reason}: ${problem}${await lastWords(waitsFor.logs)}`;
  return { ...outcome, reason };
}

/** How many processes a job tries before one has accepted it: a process may be faulty, or end at that moment. */
const processesMax = 3;

async function runOnWorker(deps: WorkerDeps, pool: WorkerPool, job: Job): Promise<RunOutcome> {
  const { context, spec } = job;
  for (let tries = 1; ; tries++) {
    const worker = pool.take(spec);
    const { process } = worker;
    job.waitsFor = process;
    const isLast = tries >= processesMax;
    try {
      if (tries === 1) await announce(deps, context, { ...spec.asked, jobId: process.id });
      await untilAborted(process.whenReady(), context.signal);
      const problem = await findProblem(deps, worker, context.signal);
      if (problem === null) return await serve(deps, worker, job);
      const isFaulty = !process.isOver && worker.serving > 0;
      if (isLast || isFaulty) throw notReady(`${problem}${await lastWords(process.logs)}`);
      await process.stop(`it was not ready: ${problem}`, deps.settings.stopGraceMs);
    } catch (error) {
      if (!(error instanceof ProcessEnded)) throw error;
      const { stoppedBecause } = await process.gone;
      if (stoppedBecause === undefined || isLast)
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
  // Before the start is reported: a job that cannot be caged is released as if it had never started.
  const isolation = await sandbox.probe(asked);
  signal.throwIfAborted();
  await onStarted(isolation);
}

async function serve(deps: WorkerDeps, worker: PooledWorker, job: Job): Promise<RunOutcome> {
  worker.serving++;
  job.isGiven = true;
  try {
    return await serveJob(deps, worker.process, job.context, job.inputJson);
  } finally {
    worker.serving--;
  }
}
