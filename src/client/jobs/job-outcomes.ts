import { checkValue, type JobDefinition } from "../../contract/define-job.ts";
import { atCaller } from "../../core/at-caller.ts";
import type { Job } from "../shapes.ts";
import { JobFailure } from "./job-failure.ts";
import { resultOf } from "./job-result.ts";
import type { JobWaits, WaitOptions } from "./wait-job.ts";

/** A job by its id, or as `submit` has answered. */
export type JobRef = string | { readonly id: string };

/** How a job has ended: with its result, or with the error that `run` would have thrown. */
export type JobOutcome<Out> =
  | { id: string; job: Job; isCompleted: true; result: Out }
  | { id: string; job: Job; isCompleted: false; error: JobFailure };

function idOf(job: JobRef): string {
  return typeof job === "string" ? job : job.id;
}

/** All jobs, in the order in which they were named, once the last one has ended. */
export async function waitAll(
  waits: JobWaits,
  jobs: readonly JobRef[],
  options: WaitOptions,
): Promise<Job[]> {
  const ended: Job[] = new Array(jobs.length);
  try {
    for await (const { index, job } of inTurnOfEnds(waits, jobs, options)) ended[index] = job;
  } catch (error) {
    throw atCaller(error);
  }
  return ended;
}

/** The outcome of each job as soon as it has ended. */
export async function* outcomes<Out>(
  waits: JobWaits,
  jobs: readonly JobRef[],
  { definition, ...options }: WaitOptions & { definition?: JobDefinition<unknown, Out> | undefined },
): AsyncGenerator<JobOutcome<Out>> {
  try {
    for await (const { job } of inTurnOfEnds(waits, jobs, options)) {
      const { id } = job;
      if (job.status !== "completed") yield { id, job, isCompleted: false, error: new JobFailure(job) };
      else {
        const result = await checkValue(definition?.result, resultOf(job), "result");
        yield { id, job, isCompleted: true, result: result as Out };
      }
    }
  } catch (error) {
    throw atCaller(error);
  }
}

type EndedJob = { index: number; job: Job };

/** A wait that fails, or a reader that leaves, ends all others. */
async function* inTurnOfEnds(
  waits: JobWaits,
  jobs: readonly JobRef[],
  { signal, ...options }: WaitOptions,
): AsyncGenerator<EndedJob> {
  const over = new AbortController();
  const all = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  const ready: EndedJob[] = [];
  let failure: { error: unknown } | undefined;
  let wake = (): void => {};
  for (const [index, ref] of jobs.entries()) {
    waits.wait(idOf(ref), { ...options, signal: all }).then(
      (job) => {
        ready.push({ index, job });
        wake();
      },
      (error: unknown) => {
        failure ??= { error };
        wake();
      },
    );
  }
  try {
    for (let left = jobs.length; left > 0; left--) {
      while (ready.length === 0 && failure === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (failure !== undefined) throw failure.error;
      yield ready.shift()!;
    }
  } finally {
    over.abort();
  }
}
