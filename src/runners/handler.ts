import type { JobDocument } from "../contract/document.ts";
import { toJson } from "../core/text/to-json.ts";
import type { Timer } from "../runtime/clock/clock.ts";
import type { Isolation } from "../sandbox/sandbox.ts";
import { refuseClosedNetwork } from "./egress/refuse-closed-network.ts";
import { resultProblem } from "./read-result.ts";
import { runProcess } from "./run-process.ts";
import {
  type RunContext,
  RunFailure,
  type Runner,
  type RunnerDeps,
  type RunOutcome,
  stoppedOutcome,
  stopReasonOf,
} from "./runner.ts";
import { readThrown } from "./thrown-error.ts";

export type HandlerJob<Params = unknown> = {
  id: string;
  type: string;
  params: Params;
  attempt: number;
  tenant_id: string;
  user_id: string;
  metadata: unknown;
  /** The whole document, as it was signed. */
  document: JobDocument;
};

export type HandlerContext = {
  /** Aborted when the job is cancelled, has run too long, or when the worker stops or loses the job. */
  signal: AbortSignal;
  /** 0 to 100, with an optional short text. */
  progress(percent: number, detail?: string): void;
  /** One more line of the job's stdout. */
  log(text: string): void;
};

/** Its return value is the job's result; an error fails the attempt. */
export type HandlerFunction<Params = unknown, Returned = unknown> = (
  job: HandlerJob<Params>,
  context: HandlerContext,
) => Returned | Promise<Returned>;

const inProcess: Isolation = { level: "in-process", applied: [], missing: [] };

/** Runs `handler` jobs: the function of this program for the type, else the command configured for it. */
export function handlerRunner(deps: RunnerDeps, functions: ReadonlyMap<string, HandlerFunction>): Runner {
  return {
    kind: "handler",
    isInProcess: (document) => functions.has(document.type),
    run(context) {
      const handle = functions.get(context.document.type);
      return handle === undefined ? runCommand(deps, context) : runFunction(deps, context, handle);
    },
  };
}

function runCommand(deps: RunnerDeps, context: RunContext): Promise<RunOutcome> {
  const { type } = context.document;
  const { handlers } = deps.settings;
  const argv = Object.hasOwn(handlers, type) ? handlers[type] : undefined;
  if (argv === undefined) {
    throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", `this worker has no handler for type ${type}`);
  }
  const run = context.signed["run"] as { params?: never } | undefined;
  return runProcess(deps, context, { argv, input: run?.params ?? null });
}

async function runFunction(
  deps: RunnerDeps,
  context: RunContext,
  handle: HandlerFunction,
): Promise<RunOutcome> {
  const { signal } = context;
  refuseClosedNetwork(context.document, "a function of the worker's program");
  if (signal.aborted) return stoppedOutcome(stopReasonOf(signal), context);
  const stop = watchStop(deps, context);
  try {
    const outcome = await Promise.race([callFunction(deps, context, handle), stop.abandoned]);
    if (!signal.aborted) return outcome;
    const reason = stopReasonOf(signal);
    // A result in spite of a drain counts; after a cancel, the hub keeps it as a late result.
    const isDone = outcome.kind === "succeeded" && (reason === "drain" || reason === "cancelled");
    return isDone ? outcome : stoppedOutcome(reason, context);
  } finally {
    stop.forget();
  }
}

async function callFunction(
  deps: RunnerDeps,
  context: RunContext,
  handle: HandlerFunction,
): Promise<RunOutcome> {
  let result: unknown;
  try {
    result = await handle(jobOf(context), {
      signal: context.signal,
      progress: context.reportProgress,
      log: (text) => context.writeOutput(`${text}\n`),
    });
  } catch (error) {
    return thrownOutcome(deps, context, error);
  }
  return succeeded(result);
}

/**
 * An error that a handler throws after it was told to stop is its way to obey, and leaves no trace. `Final` and `RetryIn`, which
 * are ordinary answers, leave none either.
 */
function thrownOutcome({ logger }: RunnerDeps, context: RunContext, error: unknown): RunOutcome {
  const { trace, ...failure } = readThrown(error);
  const isAnswer = failure.isFinal === true || failure.retryInSec !== undefined;
  if (!context.signal.aborted && !isAnswer) {
    if (trace !== null) context.writeTrace(trace);
    const { job_id, attempt } = context.lease;
    const { type } = context.document;
    const code = failure.ownCode ?? failure.detail ?? failure.code;
    // The sentence is all that a program without a logger of its own shows, so it names the job too.
    const reason = failure.reason.replaceAll(/\s*\n\s*/g, " | ");
    const sentence = `the handler of ${type} failed in job ${job_id}, attempt ${attempt}: ${reason}`;
    const { secrets } = context;
    logger.warn({ job_id, attempt, type, code: secrets.maskMessage(code) }, secrets.maskMessage(sentence));
  }
  return { kind: "failed", ...failure, isolation: inProcess };
}

function jobOf({ document, lease }: RunContext): HandlerJob {
  const { run } = document;
  return {
    id: lease.job_id,
    type: document.type,
    params: run.kind === "handler" ? run.params : undefined,
    attempt: lease.attempt,
    tenant_id: document.tenant_id,
    user_id: document.user_id,
    metadata: document.metadata,
    document,
  };
}

function succeeded(result: unknown): RunOutcome {
  const failed = (reason: string): RunOutcome => {
    return { kind: "failed", code: "EXECUTION_ERROR", reason, isolation: inProcess };
  };
  try {
    // A handler that returns nothing has the result null.
    const resultJson = result === undefined ? "null" : toJson(result, "result");
    const problem = resultProblem(resultJson);
    return problem === null ? { kind: "succeeded", resultJson, isolation: inProcess } : failed(problem);
  } catch (error) {
    return failed((error as Error).message);
  }
}

/** A function cannot be killed. One that ignores its signal is abandoned after the grace. */
function watchStop(
  { settings, clock, logger }: RunnerDeps,
  context: RunContext,
): { abandoned: Promise<RunOutcome>; forget(): void } {
  const { signal, hurry, lease, document } = context;
  const { promise: abandoned, resolve } = Promise.withResolvers<RunOutcome>();
  let isOver = false;
  let timer: Timer | undefined;
  const abandon = (): void => {
    if (isOver) return;
    const { job_id, attempt } = lease;
    logger.warn(
      { job_id, attempt },
      `the handler of ${document.type} did not stop when it was told to; job ${job_id} has ended without it`,
    );
    resolve(stoppedOutcome(stopReasonOf(signal), context));
  };
  const onStop = (): void => {
    timer = clock.setTimer(abandon, settings.stopGraceMs);
  };
  // Even then the function gets the rest of this turn to react to the signal.
  const onHurry = (): void => void setImmediate(abandon);
  signal.addEventListener("abort", onStop);
  hurry.addEventListener("abort", onHurry);
  return {
    abandoned,
    forget() {
      isOver = true;
      timer?.cancel();
      signal.removeEventListener("abort", onStop);
      hurry.removeEventListener("abort", onHurry);
    },
  };
}
