import type { SmallOutput } from "../core/jobs/small-output.ts";
import type { AttemptName, FollowOptions, OutputName, Outputs, StreamSizes } from "./outputs.ts";

/** Where small outputs are: with their jobs, in the store. */
type SmallOutputs = {
  getSmallOutput(attempt: AttemptName): Promise<SmallOutput | null>;
};

/**
 * All outputs, wherever they are kept. What an attempt sends while it runs is appended to a driver. What a short one
 * sends with its end, the store keeps in the same transaction; no attempt has both. Readers see no difference. The store
 * also removes what it keeps, together with its jobs, so that only the driver has to be surveyed, synced and cleaned.
 * Why: ADR 0023, ADR 0057.
 */
export class KeptOutputs implements Outputs {
  readonly #appended: Outputs;
  readonly #small: SmallOutputs;

  constructor(appended: Outputs, small: SmallOutputs) {
    this.#appended = appended;
    this.#small = small;
  }

  async sizes(attempt: AttemptName): Promise<StreamSizes> {
    const sizes = await this.appendedSizes(attempt);
    if (sizes.stdout + sizes.stderr > 0) return sizes;
    const small = await this.#small.getSmallOutput(attempt);
    return small === null ? sizes : { stdout: small.stdout.length, stderr: small.stderr.length };
  }

  /** How much was appended, without what came with the end. */
  appendedSizes(attempt: AttemptName): Promise<StreamSizes> {
    return this.#appended.sizes(attempt);
  }

  async *read(output: OutputName, range: { start: number; end: number }): AsyncGenerator<Buffer> {
    const { start, end } = range;
    const small = await this.#findSmall(output);
    // The driver also knows what to answer if there are too few bytes.
    if (small === null || end > small.length) yield* this.#appended.read(output, range);
    else if (end > start) yield small.subarray(start, end);
  }

  /** While an attempt runs, it is not known yet how its output will arrive. */
  async *follow(output: OutputName, options: FollowOptions): AsyncGenerator<Buffer> {
    let isAppended = false;
    for await (const piece of this.#appended.follow(output, options)) {
      isAppended = true;
      yield piece;
    }
    if (isAppended) return;
    const small = await this.#findSmall(output);
    if (small !== null && small.length > options.offset) yield small.subarray(options.offset);
  }

  append(output: OutputName, chunk: { offset: number; bytes: Uint8Array }): Promise<{ size: number }> {
    return this.#appended.append(output, chunk);
  }

  sync(jobId: string): Promise<void> {
    return this.#appended.sync(jobId);
  }

  assumeUnsynced(jobIds: Iterable<string>): void {
    this.#appended.assumeUnsynced(jobIds);
  }

  syncOverdue(signal: AbortSignal): Promise<void> {
    return this.#appended.syncOverdue(signal);
  }

  compact(signal: AbortSignal): Promise<void> {
    return this.#appended.compact(signal);
  }

  remove(jobId: string): Promise<void> {
    return this.#appended.remove(jobId);
  }

  removeAttempts(jobId: string, attempts: readonly number[]): Promise<void> {
    return this.#appended.removeAttempts(jobId, attempts);
  }

  listJobs(): AsyncGenerator<string[]> {
    return this.#appended.listJobs();
  }

  listAttempts(jobId: string): Promise<number[]> {
    return this.#appended.listAttempts(jobId);
  }

  capacityBytes(): Promise<number | null> {
    return this.#appended.capacityBytes();
  }

  close(): Promise<void> {
    return this.#appended.close();
  }

  async #findSmall({ jobId, attempt, stream }: OutputName): Promise<Buffer | null> {
    const sizes = await this.appendedSizes({ jobId, attempt });
    if (sizes.stdout + sizes.stderr > 0) return null;
    const small = await this.#small.getSmallOutput({ jobId, attempt });
    if (small === null) return null;
    const bytes = small[stream];
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }
}
