import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { JobWakes } from "../../runtime/clock/job-wakes.ts";
import type { OutputTable } from "../../store/output-table.ts";
import { checkAttempt, checkJobId, checkName } from "../check-name.ts";
import type { AttemptName, FollowOptions, OutputName, Outputs, StreamSizes } from "../outputs.ts";
import { type Compacting, compact, compactTimes } from "./compact.ts";
import { followParts } from "./follow-parts.ts";
import { AppendLimits } from "./limit-appends.ts";
import { readParts, type SegmentPlaces } from "./read-parts.ts";
import { SizeBatches } from "./size-batches.ts";

const jobsPerPage = 500;

type SharedOptions = Partial<Omit<Compacting, "table">> & {
  clock: Pick<Clock, "sleep">;
  /** Where older output goes; if there is no place, all of it stays in the table. */
  places?: SegmentPlaces;
};

/**
 * Keeps outputs where all hubs of a database reach them: chunks in a table, older ones as segments in an object store or a
 * shared folder. An append is durable when it is answered, so there is nothing to sync. Why: ADR 0085.
 */
export class SharedOutputs implements Outputs {
  readonly #table: OutputTable;
  readonly #options: Required<SharedOptions>;
  readonly #limits = new AppendLimits();
  readonly #sizes: SizeBatches;
  readonly #wakes = new JobWakes();
  #stopListening: (() => void) | undefined;

  constructor(table: OutputTable, options: SharedOptions) {
    this.#table = table;
    this.#options = { places: {}, times: compactTimes, failpoint: () => {}, ...options };
    this.#sizes = new SizeBatches((attempts) => table.sizes(attempts));
  }

  async append(
    output: OutputName,
    { offset, bytes }: { offset: number; bytes: Uint8Array },
  ): Promise<{ size: number }> {
    checkName(output);
    const { jobId, attempt, stream } = output;
    const key = `${jobId} ${attempt} ${stream}`;
    const { isAppended, size } = await this.#limits
      .take(key, bytes.length, () => this.#table.append(output, { offset, bytes }))
      .catch(asOutputError);
    if (!isAppended) {
      const message = `offset ${offset} is not the end of the output, which has ${size} bytes`;
      throw new WritError("OUTPUT_OFFSET", message, { size });
    }
    this.#wakes.wake(jobId);
    return { size };
  }

  async sizes({ jobId, attempt }: AttemptName): Promise<StreamSizes> {
    checkJobId(jobId);
    checkAttempt(attempt);
    return this.#sizes.get({ jobId, attempt }).catch(asOutputError);
  }

  async *read(output: OutputName, range: { start: number; end: number }): AsyncGenerator<Buffer> {
    checkName(output);
    const shared = { table: this.#table, places: this.#options.places };
    yield* withOutputErrors(readParts(shared, output, range));
  }

  async *follow(output: OutputName, options: FollowOptions): AsyncGenerator<Buffer> {
    checkName(output);
    const { places, clock } = this.#options;
    this.#stopListening ??= this.#table.onChange((jobEnd) => this.#wakes.wake(jobEnd));
    const following = { table: this.#table, places, clock, wakes: this.#wakes };
    yield* withOutputErrors(followParts(following, output, options));
  }

  async sync(): Promise<void> {}

  assumeUnsynced(): void {}

  async syncOverdue(): Promise<void> {}

  async compact(signal: AbortSignal): Promise<void> {
    await compact({ table: this.#table, ...this.#options }, signal);
  }

  async remove(jobId: string): Promise<void> {
    checkJobId(jobId);
    await this.#table.remove(jobId, null).catch(asOutputError);
    this.#wakes.wake(jobId);
  }

  async removeAttempts(jobId: string, attempts: readonly number[]): Promise<void> {
    checkJobId(jobId);
    for (const attempt of attempts) checkAttempt(attempt);
    await this.#table.remove(jobId, attempts).catch(asOutputError);
    this.#wakes.wake(jobId);
  }

  async *listJobs(): AsyncGenerator<string[]> {
    for (let after = ""; ; ) {
      const page = await this.#table.listJobs({ after, limit: jobsPerPage }).catch(asOutputError);
      if (page.length > 0) yield page;
      if (page.length < jobsPerPage) return;
      after = page.at(-1)!;
    }
  }

  async listAttempts(jobId: string): Promise<number[]> {
    checkJobId(jobId);
    return this.#table.listAttempts(jobId).catch(asOutputError);
  }

  /** The database and the object store say nothing about their disks. */
  async capacityBytes(): Promise<null> {
    return null;
  }

  close(): Promise<void> {
    this.#stopListening?.();
    return this.#table.close();
  }
}

async function* withOutputErrors(pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* pieces;
  } catch (error) {
    asOutputError(error);
  }
}

/** A database or an object store that cannot be used is output that cannot be used. */
function asOutputError(error: unknown): never {
  if (
    error instanceof WritError &&
    ["STORE_UNAVAILABLE", "FILES_UNAVAILABLE", "STORAGE_FULL"].includes(error.code)
  )
    throw new WritError("OUTPUT_UNAVAILABLE", error.message, error.details);
  throw error;
}
