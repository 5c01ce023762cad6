import type { Handlers, Job, JobContext } from "./handlers.ts";
import { JobLog } from "./job-log.ts";

export type JobError = { code: string; message: string };

/** What `POST /job` names, checked. */
export type Submission = Job & { logOut: string | undefined; logErr: string | undefined };

type Entry = {
  readonly job: Submission;
  readonly abort: AbortController;
  status: "pending" | "running" | "completed" | "failed";
  progress?: { percent: number; detail?: string | undefined };
  /** JSON text. */
  result?: string;
  error?: JobError;
  /** Whether somebody has read how it ended. */
  isRead: boolean;
};

type TableOptions = {
  handlers: Handlers;
  /** How many jobs run at once. */
  concurrency: number;
  /** How many jobs that have ended are remembered. */
  rememberMax: number;
};

const messageCharsMax = 2000;

/** The jobs of a worker: those that wait, those that run, and the last ones that have ended. */
export class JobTable {
  readonly #options: TableOptions;
  /** In the order of their submission. */
  readonly #jobs = new Map<string, Entry>();
  #running = 0;
  #onChange: (() => void)[] = [];

  constructor(options: TableOptions) {
    this.#options = options;
  }

  /** A job that has ended may be submitted again: a retry has the same id. */
  isOpen(id: string): boolean {
    const status = this.#jobs.get(id)?.status;
    return status === "pending" || status === "running";
  }

  add(job: Submission): void {
    // Moved to the end of the order.
    this.#jobs.delete(job.id);
    this.#jobs.set(job.id, { job, abort: new AbortController(), status: "pending", isRead: false });
    this.#startNext();
  }

  /** The answer to `GET /job/{id}` as JSON text; undefined if the job is not known. */
  describe(id: string): string | undefined {
    const entry = this.#jobs.get(id);
    if (entry === undefined) return undefined;
    const { job, status, progress, result, error } = entry;
    if (hasEnded(entry)) {
      entry.isRead = true;
      this.#changed();
    }
    const fields = {
      job_id: job.id,
      job_class: job.jobClass,
      status,
      progress: progress?.percent,
      progress_detail: progress?.detail,
      error,
    };
    const text = JSON.stringify(fields);
    return result === undefined ? text : `${text.slice(0, -1)},"result":${result}}`;
  }

  list(): { job_id: string; job_class: string; status: string }[] {
    return [...this.#jobs.values()].map(({ job, status }) => ({
      job_id: job.id,
      job_class: job.jobClass,
      status,
    }));
  }

  /** False if the job is not known. It has ended when its handler has returned. */
  cancel(id: string): boolean {
    const entry = this.#jobs.get(id);
    if (entry === undefined) return false;
    if (entry.status === "pending") this.#end(entry, { error: cancelled });
    entry.abort.abort();
    return true;
  }

  /** Resolves when no job is left, and somebody has read the end of each; waits for the latter at most this long. */
  async whenDone(readMs: number): Promise<void> {
    while ([...this.#jobs.keys()].some((id) => this.isOpen(id))) await this.#nextChange();
    const timer = setTimeout(() => {
      for (const entry of this.#jobs.values()) entry.isRead = true;
      this.#changed();
    }, readMs);
    while ([...this.#jobs.values()].some(({ isRead }) => !isRead)) await this.#nextChange();
    clearTimeout(timer);
  }

  #startNext(): void {
    for (const entry of this.#jobs.values()) {
      if (this.#running >= this.#options.concurrency) return;
      if (entry.status === "pending") void this.#run(entry);
    }
  }

  async #run(entry: Entry): Promise<void> {
    const { job, abort } = entry;
    const logs = { out: new JobLog(job.logOut), err: new JobLog(job.logErr) };
    entry.status = "running";
    this.#running++;
    const context: JobContext = {
      signal: abort.signal,
      progress: (percent, detail) => {
        entry.progress = { percent, detail };
      },
      log: (text) => logs.out.write(text),
      logError: (text) => logs.err.write(text),
    };
    const end = await this.#call(job, context);
    logs.out.close();
    logs.err.close();
    this.#running--;
    this.#end(entry, abort.signal.aborted ? { error: cancelled } : end);
    this.#startNext();
  }

  async #call(job: Submission, context: JobContext): Promise<{ result: string } | { error: JobError }> {
    try {
      const handler = this.#options.handlers[job.jobClass]!;
      const handle = typeof handler === "function" ? handler : handler.handle;
      const { id, jobClass, input, outputDir } = job;
      const value = await handle({ id, jobClass, input: input as never, outputDir }, context);
      return { result: JSON.stringify(value) ?? "null" };
    } catch (error) {
      const end = errorOf(error);
      // One that obeys a cancel, or finds fault with its input, has explained itself.
      if (!context.signal.aborted && end.code !== "INVALID_INPUT") context.logError(stackOf(error));
      return { error: end };
    }
  }

  #end(entry: Entry, end: { result: string } | { error: JobError }): void {
    Object.assign(entry, end);
    entry.status = "error" in end ? "failed" : "completed";
    this.#forgetOldest();
    this.#changed();
  }

  #forgetOldest(): void {
    const ended = [...this.#jobs.values()].filter(hasEnded);
    for (const { job } of ended.slice(0, Math.max(0, ended.length - this.#options.rememberMax)))
      this.#jobs.delete(job.id);
  }

  #changed(): void {
    for (const resolve of this.#onChange.splice(0)) resolve();
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => this.#onChange.push(resolve));
  }
}

const cancelled: JobError = { code: "JOB_EXECUTION_ERROR", message: "cancelled" };

function hasEnded({ status }: Entry): boolean {
  return status === "completed" || status === "failed";
}

function stackOf(error: unknown): string {
  return (error instanceof Error && error.stack) || String(error);
}

/**
 * A handler that finds fault with its input throws an error whose `code` is INVALID_INPUT: then the job is not tried
 * again.
 */
function errorOf(error: unknown): JobError {
  const isInput = error instanceof Error && "code" in error && error.code === "INVALID_INPUT";
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: isInput ? "INVALID_INPUT" : "JOB_EXECUTION_ERROR",
    message: message.slice(0, messageCharsMax) || "the handler threw an error without a message",
  };
}
