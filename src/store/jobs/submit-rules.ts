// Rules of a submission that both drivers follow: quotas, and what a repeated request means. Why: ADR 0022.
import type { JobState, NewJob } from "../../core/jobs/job.ts";
import { mayWait, queuesAllowed } from "../../core/jobs/quota.ts";
import type { QueueBook } from "../queues/queue-book.ts";
import type { SubmitOutcome } from "../store.ts";

/** What a store knows about a job that was submitted under the same name before. */
export type KnownJob = { id: string; userId: string; status: JobState; requestHash: string | null };

type Accepted = Extract<SubmitOutcome, { kind: "accepted" }>["jobs"][number];

/** The refusal of a batch by the quota of a tenant, or null. */
export function refusalByQuota(
  book: QueueBook,
  { jobs, maxPending }: { jobs: NewJob[]; maxPending: number | null },
  isKnown: (job: NewJob) => boolean,
): SubmitOutcome | null {
  const pendingOf = (tenantId: string): number => book.tenant(tenantId).pending;
  const overPending = maxPending === null ? null : checkPending(jobs, maxPending, { pendingOf, isKnown });
  return (
    overPending ??
    checkQueues(jobs, {
      waitingOf: (tenantId) => book.tenant(tenantId).waiting.size,
      isWaiting: (queueKey) => (book.byKey(queueKey)?.pending ?? 0) > 0,
      allowed: (tenantId) => queuesAllowed(book.quota(tenantId)),
      isKnown,
    })
  );
}

/**
 * The refusal of a batch that would exceed a tenant's quota, or null. Jobs that already exist cost nothing, so that a
 * request can be repeated when the quota is used up; whether they exist is checked only when it matters.
 */
function checkPending(
  jobs: NewJob[],
  maxPending: number,
  look: { pendingOf(tenantId: string): number; isKnown(job: NewJob): boolean },
): SubmitOutcome | null {
  for (const [tenantId, ofTenant] of Map.groupBy(jobs, (job) => job.tenantId)) {
    const pending = look.pendingOf(tenantId);
    if (mayWait({ pending, added: ofTenant.length }, maxPending)) continue;
    const added = ofTenant.filter((job) => !look.isKnown(job)).length;
    if (added > 0 && !mayWait({ pending, added }, maxPending)) {
      return { kind: "over_quota", pending, maxPending };
    }
  }
  return null;
}

/**
 * The refusal of a batch that would make more queues of a tenant hold jobs than it may have, or null. Each of them costs
 * memory, and time of the claims of that tenant.
 */
function checkQueues(
  jobs: NewJob[],
  look: {
    waitingOf(tenantId: string): number;
    isWaiting(queueKey: string): boolean;
    allowed(tenantId: string): number;
    isKnown(job: NewJob): boolean;
  },
): SubmitOutcome | null {
  const opening = jobs.filter(({ queueKey }) => !look.isWaiting(queueKey));
  for (const [tenantId, ofTenant] of Map.groupBy(opening, (job) => job.tenantId)) {
    const waiting = look.waitingOf(tenantId);
    const maxQueues = look.allowed(tenantId);
    const keys = new Set(ofTenant.map(({ queueKey }) => queueKey));
    if (waiting + keys.size <= maxQueues) continue;
    const added = new Set(ofTenant.filter((job) => !look.isKnown(job)).map(({ queueKey }) => queueKey));
    if (waiting + added.size > maxQueues) return { kind: "too_many_queues", waiting, maxQueues };
  }
  return null;
}

/**
 * The answer for a job whose name is taken: the first job, if it was made by the same request. A different request
 * under the same key or id refuses the whole batch.
 */
export function answerRepeat(
  job: NewJob,
  index: number,
  known: KnownJob | null,
): { job: Accepted } | { refusal: SubmitOutcome } {
  // Another user's job is never named, not even to a caller who guesses its key and its request.
  if (known !== null && known.userId !== job.userId) {
    return { refusal: { kind: "mismatch", index, jobId: null } };
  }
  if (known === null || job.requestHash === null || known.requestHash !== job.requestHash) {
    return { refusal: { kind: "mismatch", index, jobId: known?.id ?? job.id } };
  }
  return { job: { id: known.id, status: known.status, existed: true } };
}
