import { submitEffects } from "../../core/effects.ts";
import type { Origin } from "../../core/events.ts";
import { type JobState, type NewJob, newJobRecord } from "../../core/job.ts";
import { sealJob } from "../job-seal.ts";
import type { SubmitOutcome } from "../store.ts";
import { applyEffects } from "./apply-effects.ts";
import { type Context, RefusedAct } from "./context.ts";
import { insertJob } from "./job-row.ts";

type SubmitInput = { jobs: NewJob[]; maxPending: number | null; origin: Origin | null };
type Known = { id: string; status: JobState; request_hash: string | null };

export function submitJobs(context: Context, input: SubmitInput): SubmitOutcome {
  if (input.maxPending !== null) checkQuota(context, input.jobs, input.maxPending);
  const jobs = input.jobs.map((job, index) => {
    if (accept(context, job, input.origin)) return { id: job.id, status: "pending" as const, existed: false };
    const { id, status } = sameRequest(context, job, index);
    return { id, status, existed: true };
  });
  return { kind: "accepted", jobs };
}

/** Jobs that exist already cost nothing, so that a request can be repeated when the quota is used up. */
function checkQuota(context: Context, jobs: NewJob[], maxPending: number): void {
  for (const [tenantId, ofTenant] of Map.groupBy(jobs, (job) => job.tenantId)) {
    const { pending } = context.book.tenant(tenantId);
    if (pending + ofTenant.length <= maxPending) continue;
    const fresh = ofTenant.filter((job) => findKnown(context, job) === null);
    if (fresh.length > 0 && pending + fresh.length > maxPending) {
      throw new RefusedAct({ kind: "over_quota", pending, maxPending } satisfies SubmitOutcome);
    }
  }
}

/** By the key that the producer chose, else by the id. What has neither name cannot be known. */
function findKnown(context: Context, job: NewJob): Known | null {
  const [condition, name] = job.isKeyChosen
    ? ["idempotency_key = ? AND is_key_chosen = 1", job.idempotencyKey]
    : ["id = ?", job.id];
  return context.sql.first<Known>(
    `SELECT id, status, request_hash FROM jobs WHERE tenant_id = ? AND ${condition}`,
    job.tenantId,
    name,
  );
}

/** False when there is such a job already. */
function accept(context: Context, job: NewJob, origin: Origin | null): boolean {
  const queue = context.book.open(job.queueKey);
  const record = newJobRecord(job, context.tallies.get("job_seq") + 1);
  const effects = submitEffects(record, origin);
  if (!insertJob(context, effects, { queueId: queue.id, isKeyChosen: job.isKeyChosen })) return false;
  context.tallies.add("job_seq", 1);
  context.sql.run(
    "INSERT INTO documents (job_seq, document, mac) VALUES (?, ?, ?)",
    record.seq,
    job.document,
    sealJob(context.macKey, record, job.document),
  );
  applyEffects(context, effects);
  return true;
}

/** The job that the same request made before; another request under its key, or its id, takes the whole batch down. */
function sameRequest(context: Context, job: NewJob, index: number): Known {
  const known = findKnown(context, job);
  if (known === null || job.requestHash === null || known.request_hash !== job.requestHash) {
    throw new RefusedAct({ kind: "mismatch", index, jobId: known?.id ?? job.id } satisfies SubmitOutcome);
  }
  return known;
}
