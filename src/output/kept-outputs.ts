import type { SmallOutput } from "../core/jobs/small-output.ts";
import type {
  AttemptName,
  FollowOptions,
  OutputName,
  Outputs,
  ReadableOutputs,
  StreamSizes,
} from "./outputs.ts";

/** Where small outputs are: with their jobs, in the store. */
type SmallOutputs = {
  getSmallOutput(attempt: AttemptName): Promise<SmallOutput | null>;
};

/**
 * All outputs, wherever they are kept. What an attempt sends while it runs is appended to a driver. What a short one
 * sends with its end, the store keeps in the same transaction; no attempt has both. Readers see no difference. The store
 * also removes what it keeps, together with its jobs, so that only `appended` has to be surveyed, synced and cleaned.
 * Why: ADR 0023, ADR 0057.
 */
export class KeptOutputs implements ReadableOutputs {
  /** What was sent while attempts ran, without what came with their ends. */
  readonly appended: Outputs;
  readonly #small: SmallOutputs;

  constructor(appended: Outputs, small: SmallOutputs) {
    this.appended = appended;
    this.#small = small;
  }

  async sizes(attempt: AttemptName): Promise<StreamSizes> {
    const sizes = await this.appended.sizes(attempt);
    if (sizes.stdout + sizes.stderr > 0) return sizes;
    const small = await this.#small.getSmallOutput(attempt);
    return small === null ? sizes : { stdout: small.stdout.length, stderr: small.stderr.length };
  }

  async *read(output: OutputName, range: { start: number; end: number }): AsyncGenerator<Buffer> {
    const { start, end } = range;
    const small = await this.#findSmall(output);
    // The driver also knows what to answer if there are too few bytes.
    if (small === null || end > small.length) yield* this.appended.read(output, range);
    else if (end > start) yield small.subarray(start, end);
  }

  /** While an attempt runs, it is not known yet how its output will arrive. */
  async *follow(output: OutputName, options: FollowOptions): AsyncGenerator<Buffer> {
    let isAppended = false;
    for await (const piece of this.appended.follow(output, options)) {
      isAppended = true;
      yield piece;
    }
    if (isAppended) return;
    const small = await this.#findSmall(output);
    if (small !== null && small.length > options.offset) yield small.subarray(options.offset);
  }

  async #findSmall({ jobId, attempt, stream }: OutputName): Promise<Buffer | null> {
    const sizes = await this.appended.sizes({ jobId, attempt });
    if (sizes.stdout + sizes.stderr > 0) return null;
    const small = await this.#small.getSmallOutput({ jobId, attempt });
    if (small === null) return null;
    const bytes = small[stream];
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }
}
