// Which job has a unique key. A note in a table says where to look, and the job decides. Why: ADR 0140.
import { createHash } from "node:crypto";
import type { Origin } from "../../../core/events.ts";
import type { Change } from "../../../core/jobs/change.ts";
import { type ChangeContext, decideEffects } from "../../../core/jobs/effects.ts";
import type { JobRecord, NewJob } from "../../../core/jobs/job.ts";
import { hasKey, uniqueOf } from "../../../core/unique/unique.ts";
import { deduplicated, judgeDuplicate, rulesAt, standIn } from "../../jobs/duplicate.ts";
import type { SubmittedJob } from "../../store.ts";
import { lockKeysText } from "../connection/locks.ts";
import { lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { KeptJob } from "../transaction/work.ts";
import { readKept, recordColumns, recordFrom } from "./job-row.ts";

type Keyed = Pick<JobRecord, "tenantId" | "terms">;

/** The jobs that are noted for unique keys, as this transaction leaves them. */
export class Holders {
  readonly #byKey = new Map<string, KeptJob>();

  /** The job that has the unique key of this one; undefined for a job without one, too. */
  of(job: Keyed, nowMs: number): KeptJob | undefined {
    const unique = uniqueOf(job);
    if (unique === null) return undefined;
    const { tenantId } = job;
    const noted = this.#byKey.get(nameOf({ tenantId, key: unique.key }));
    return noted && hasKey(noted.job, { tenantId, key: unique.key }, nowMs) ? noted : undefined;
  }

  /** This job is noted for its key, or has changed. */
  note(kept: KeptJob): void {
    const unique = uniqueOf(kept.job);
    if (unique !== null) this.#byKey.set(nameOf({ tenantId: kept.job.tenantId, key: unique.key }), kept);
  }
}

type KeyName = { tenantId: string; key: string };

function nameOf({ tenantId, key }: KeyName): string {
  return `${tenantId}\n${key}`;
}

/**
 * Locks the unique keys of these jobs until the transaction ends, and the jobs that have them, so that none of the keys is taken or given
 * back by another transaction meanwhile.
 */
export async function lockHolders(tx: Transaction, jobs: Keyed[]): Promise<Holders> {
  const names = namesOf(jobs);
  if (names.length === 0) return new Holders();
  // In one order, so that no two wait for each other.
  const numbers = [...new Set(names.map(lockNumber))].sort((a, b) => a - b);
  await tx.sql.all(lockKeysText, numbers);
  const noted = await readNoted(tx, names);
  const locked = await lockJobs(tx, [...noted]);
  // Some may have been given back before they were locked.
  const still = await readNoted(tx, names);
  return holdersOf([...locked.values()].filter(({ job }) => still.has(job.id)));
}

/** The same without locks, for those who take no key. */
export async function readHolders(tx: Transaction, jobs: Keyed[]): Promise<Holders> {
  const names = namesOf(jobs);
  if (names.length === 0) return new Holders();
  const noted = await readNoted(tx, names);
  const rows = await tx.sql.rows(
    `SELECT ${recordColumns} FROM ${recordFrom("job_states")} WHERE j.id = ANY ($1)`,
    [...noted],
  );
  return holdersOf(rows.map((row) => readKept(row, "active")));
}

function holdersOf(kept: KeptJob[]): Holders {
  const holders = new Holders();
  for (const one of kept) holders.note(one);
  return holders;
}

function namesOf(jobs: Keyed[]): KeyName[] {
  return jobs.flatMap(({ tenantId, terms }) => {
    const unique = uniqueOf({ terms });
    return unique === null ? [] : [{ tenantId, key: unique.key }];
  });
}

/** Two keys with the same number only wait for each other. */
function lockNumber(name: KeyName): number {
  return createHash("sha256").update(nameOf(name)).digest().readInt32BE();
}

/** The ids of the jobs that are noted. */
async function readNoted({ sql }: Transaction, names: KeyName[]): Promise<Set<string>> {
  const rows = await sql.all<{ id: string }>(
    `SELECT j.id FROM unnest($1::text[], $2::text[]) AS n (tenant_id, key)
      JOIN unique_keys k USING (tenant_id, key) JOIN jobs j ON j.seq = k.seq`,
    names.map(({ tenantId }) => tenantId),
    names.map(({ key }) => key),
  );
  return new Set(rows.map(({ id }) => id));
}

/** Inside of `inBook`: the job that stands for this one; null if it can be accepted. What is refused was refused before. */
export function meetHolder(
  tx: Transaction,
  job: NewJob,
  { holders, origin }: { holders: Holders; origin: Origin | null },
): SubmittedJob | null {
  const holder = holders.of(job, job.createdAt);
  if (holder === undefined) return null;
  const duplicate = judgeDuplicate(job, holder.job);
  const how = { rules: rulesAt(job.createdAt), origin };
  if (duplicate.kind === "replace") {
    changePending(tx, holder, { act: "supersede", by: job.id }, how);
    return null;
  }
  if (duplicate.kind === "postpone")
    holders.note(changePending(tx, holder, { act: "postpone", runAt: duplicate.runAt }, how));
  else {
    const { event, after } = deduplicated(holder.job, job, origin);
    tx.log(event);
    tx.work.notice.job(after.id);
    holders.note(tx.work.put(holder, { ...holder, job: after }));
  }
  return standIn(holder.job);
}

function changePending(tx: Transaction, kept: KeptJob, change: Change, how: ChangeContext): KeptJob {
  const outcome = decideEffects(kept.job, change, how);
  return outcome.kind === "moved" ? tx.apply(kept, outcome.effects, kept.queueId) : kept;
}

/** The first of these jobs whose key another user's job has, or -1. */
export function findRefused(jobs: NewJob[], holders: Holders, isRepeated: (job: NewJob) => boolean): number {
  return jobs.findIndex((job) => {
    if (isRepeated(job)) return false;
    const holder = holders.of(job, job.createdAt);
    return holder !== undefined && judgeDuplicate(job, holder.job).kind === "refuse";
  });
}
