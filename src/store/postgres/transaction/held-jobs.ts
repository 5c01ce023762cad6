import type { JobRecord } from "../../../core/jobs/job.ts";
import type { RecordRow } from "../../jobs/stored-record.ts";
import { submittedFields, submittedIndexes } from "../jobs/job-row.ts";
import type { KeptJob } from "./work.ts";

/** What was submitted, and therefore never changes. */
export type HeldJob = {
  seq: number;
  queueId: number;
  queueKey: string;
  submitted: JobRecord[keyof JobRecord][];
};

/** As many as workers of one hub may hold at a time in earnest; what is forgotten is read again. */
const heldMax = 10_000;

/**
 * The jobs that this store has leased to workers, so that who changes one of them reads nothing but its state.
 * Why: ADR 0091.
 */
export class HeldJobs {
  readonly #byId = new Map<string, HeldJob>();

  /** A job is committed so. */
  note({ job, queueId, place }: KeptJob): void {
    if (place !== "active") this.#byId.delete(job.id);
    else if (this.#byId.get(job.id)?.seq !== job.seq) {
      const oldest = this.#byId.keys().next().value;
      if (this.#byId.size >= heldMax && oldest !== undefined) this.#byId.delete(oldest);
      const submitted = submittedFields.map((field) => job[field]);
      this.#byId.set(job.id, { seq: job.seq, queueId, queueKey: job.queueKey, submitted });
    }
  }

  /** By their numbers; null if not all of them are known. */
  find(ids: readonly string[]): Map<number, HeldJob> | null {
    const found = new Map<number, HeldJob>();
    for (const id of ids) {
      const held = this.#byId.get(id);
      if (held === undefined) return null;
      found.set(held.seq, held);
    }
    return found;
  }
}

/** The row of a record, of which only the state was read. */
export function completeRow(row: unknown[], { submitted }: HeldJob): RecordRow {
  for (const [place, index] of submittedIndexes.entries()) row[index] = submitted[place];
  return row;
}
