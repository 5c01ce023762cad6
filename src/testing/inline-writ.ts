import type { Accepted, JobInput, SubmitOptions } from "../client/shapes.ts";
import { Writ } from "../client/writ.ts";
import type { JobDefinition } from "../contract/define-job.ts";

/**
 * A client whose submissions resolve when their jobs have come to rest. The hub answers them as ever: a call that it kept open would
 * hold up the next submission of the same client, and with it a handler that submits jobs.
 */
export class InlineWrit extends Writ {
  readonly #rest: (jobIds: readonly string[]) => Promise<void>;

  constructor(hub: { url: string; token: string }, rest: (jobIds: readonly string[]) => Promise<void>) {
    super(hub);
    this.#rest = rest;
  }

  override submit(job: JobInput): Promise<Accepted>;
  override submit<In, Out, Params, Returned>(
    job: JobDefinition<In, Out, Params, Returned>,
    params: NoInfer<In>,
    options?: SubmitOptions,
  ): Promise<Accepted>;
  override async submit(...given: unknown[]): Promise<Accepted> {
    const accepted = await (super.submit as (...all: unknown[]) => Promise<Accepted>).apply(this, given);
    await this.#rest([accepted.id]);
    return accepted;
  }

  override submitBatch(jobs: readonly JobInput[]): Promise<Accepted[]>;
  override submitBatch<In, Out, Params, Returned>(
    job: JobDefinition<In, Out, Params, Returned>,
    params: readonly NoInfer<In>[],
    options?: SubmitOptions,
  ): Promise<Accepted[]>;
  override async submitBatch(...given: unknown[]): Promise<Accepted[]> {
    const accepted = await (super.submitBatch as (...all: unknown[]) => Promise<Accepted[]>).apply(
      this,
      given,
    );
    await this.#rest(accepted.map(({ id }) => id));
    return accepted;
  }
}
