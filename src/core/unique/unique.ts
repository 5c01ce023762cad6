import { isEnded, type JobRecord } from "../jobs/job.ts";
import { termsOf } from "../jobs/terms.ts";

export const uniqueUntils = ["start", "end", "window"] as const;
export const onDuplicates = ["keep", "replace", "postpone"] as const;

/** A key of which at most one job of the tenant has hold, by the names of the submission. Why: ADR 0140. */
export type Unique = {
  key: string;
  until: (typeof uniqueUntils)[number];
  window_sec?: number | undefined;
  on_duplicate?: (typeof onDuplicates)[number] | undefined;
  debounce_sec?: number | undefined;
  max_wait_sec?: number | undefined;
};

/** What becomes of a job whose key another one has. */
export type Duplicate =
  /** The other one stands for it. */
  | { kind: "keep" }
  /** The other one ends, and the new job takes its key. */
  | { kind: "replace" }
  /** The other one stands for it, and starts at this time or later. */
  | { kind: "postpone"; runAt: number }
  /** The other one is not for the caller to change. */
  | { kind: "refuse" };

/** Null for nearly all jobs, and for terms that cannot be read. */
export function uniqueOf(job: Pick<JobRecord, "terms">): Unique | null {
  if (job.terms === null) return null;
  return termsOf(job).unique ?? null;
}

/**
 * Whether the job that is noted for a key has it. The note is only where to look: what counts is the job, whose terms are sealed. A
 * note goes when the key is given back, so a job that waits for a retry has none to be found by.
 */
export function hasKey(
  job: JobRecord,
  { tenantId, key }: { tenantId: string; key: string },
  nowMs: number,
): boolean {
  const unique = uniqueOf(job);
  if (unique === null || unique.key !== key || job.tenantId !== tenantId) return false;
  if (unique.until === "start") return job.status === "pending";
  if (unique.until === "end") return !isEnded(job.status);
  return job.createdAt + (unique.window_sec ?? 0) * 1000 > nowMs;
}

/** Whether this change gives the job's key back: its first claim, or its end. A window only passes. */
export function givesKeyBack(before: JobRecord, after: JobRecord): boolean {
  const unique = uniqueOf(after);
  if (unique === null) return false;
  if (unique.until === "start") return before.status === "pending" && after.status !== "pending";
  return unique.until === "end" && !isEnded(before.status) && isEnded(after.status);
}

/** By whom and when a job is submitted whose key may be taken. `actsForAll`: the caller may change the jobs of others. */
type Submitter = { userId: string; actsForAll: boolean; nowMs: number };

export function decideDuplicate(unique: Unique, holder: JobRecord, submitter: Submitter): Duplicate {
  if (holder.userId !== submitter.userId && !submitter.actsForAll) return { kind: "refuse" };
  // What a worker has had may have happened, in part: it is left to end.
  const isWaiting = holder.status === "pending" && holder.attempt === 0;
  if (!isWaiting) return { kind: "keep" };
  if (unique.on_duplicate === "replace") return { kind: "replace" };
  if (unique.on_duplicate !== "postpone") return { kind: "keep" };
  const runAt = postponedTo(unique, holder, submitter.nowMs);
  return runAt === holder.runAt ? { kind: "keep" } : { kind: "postpone", runAt };
}

/** So many times its delay a job is postponed at most, by default. */
export const waitFactor = 10;

/** Never earlier than it is, and never so late that new duplicates could put it off for ever. */
function postponedTo({ debounce_sec = 0, max_wait_sec }: Unique, holder: JobRecord, nowMs: number): number {
  const latest = holder.createdAt + (max_wait_sec ?? waitFactor * debounce_sec) * 1000;
  return Math.max(holder.runAt, Math.min(nowMs + debounce_sec * 1000, latest));
}

/** A job that duplicates postpone begins to wait with its own submission. */
export function firstDelayMs(unique: Unique | undefined): number {
  return unique?.on_duplicate === "postpone" ? (unique.debounce_sec ?? 0) * 1000 : 0;
}
