import type { StandardSchema } from "./schema.ts";

/** A job as its handler sees it. */
export type Job<Input = unknown> = {
  id: string;
  /** The type of the job at the hub. */
  jobClass: string;
  input: Input;
  /** Files that are put there can be collected; undefined if the caller named no directory. */
  outputDir: string | undefined;
};

export type JobContext = {
  /** Aborted when the job is cancelled. A handler that ignores it is ended with the whole process. */
  signal: AbortSignal;
  /** 0 to 100, with an optional short text. */
  progress(percent: number, detail?: string): void;
  /** One more line of the job's stdout. */
  log(text: string): void;
  /** One more line of the job's stderr. */
  logError(text: string): void;
};

/** Its return value is the job's result; an error fails the job. */
export type JobHandler<Input = unknown> = (job: Job<Input>, context: JobContext) => unknown;

/** A handler whose input was checked. */
export type TypedHandler = {
  readonly schema: StandardSchema;
  readonly handle: JobHandler<never>;
};

export type Handlers = Readonly<Record<string, JobHandler | TypedHandler>>;

/** A handler that is given the output of a schema; a job whose input does not fit is refused with INVALID_INPUT. */
export function withSchema<Input>(schema: StandardSchema<Input>, handle: JobHandler<Input>): TypedHandler {
  return { schema, handle };
}
