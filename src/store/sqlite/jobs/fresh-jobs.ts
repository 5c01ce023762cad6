import type { JobRecord } from "../../../core/jobs/job.ts";
import type { SealedJob } from "../../queues/deal-jobs.ts";

/** With their documents, at most about 40 MB in a hub whose queues are long. */
const jobsMax = 20_000;
const charsMax = 16 * 1024 ** 2;

/**
 * Claimable jobs as they were accepted, so that a claim need neither read them again nor check the seal that was made
 * a moment ago. Another connection that writes to the file empties this memory, and so does a rollback; whoever changes
 * a row has to forget it here. Jobs beyond its size are read and checked as always. Why: ADR 0064.
 */
export class FreshJobs {
  readonly #jobs = new Map<number, SealedJob>();
  #chars = 0;

  remember(job: JobRecord, document: string): void {
    if (this.#jobs.size >= jobsMax || this.#chars + document.length > charsMax) return;
    this.#jobs.set(job.seq, { job, document, mac: null, isFresh: true });
    this.#chars += document.length;
  }

  get(seq: number): SealedJob | undefined {
    return this.#jobs.get(seq);
  }

  forget(seq: number): void {
    const known = this.#jobs.get(seq);
    if (known === undefined) return;
    this.#jobs.delete(seq);
    this.#chars -= known.document.length;
  }

  clear(): void {
    this.#jobs.clear();
    this.#chars = 0;
  }
}
