// Accepts a batch of jobs as a whole, or refuses it. Why: ADR 0062, ADR 0073.
import type { Origin } from "../../../core/events.ts";
import { submitEffects } from "../../../core/jobs/effects.ts";
import { type NewJob, newJobRecord } from "../../../core/jobs/job.ts";
import { RefusedAct } from "../../acts/refused-act.ts";
import { sealJob } from "../../jobs/job-seal.ts";
import { answerRepeat, type KnownJob, refusalByQuota } from "../../jobs/submit-rules.ts";
import type { SubmitOutcome } from "../../store.ts";
import { openQueue } from "../claims/queue-rows.ts";
import type { Context } from "../context.ts";
import { applyEffects } from "./apply-effects.ts";
import { insertJob } from "./job-row.ts";

type SubmitInput = { jobs: NewJob[]; maxPending: number | null; origin: Origin | null };

export function submitJobs(context: Context, input: SubmitInput): SubmitOutcome {
  // Returned and not thrown: nothing was written yet, so there is nothing to roll back.
  const refusal = refusalByQuota(context.book, input, (job) => findKnown(context, job) !== null);
  if (refusal !== null) return refusal;
  const jobs = input.jobs.map((job, index) => {
    if (accept(context, job, input.origin)) return { id: job.id, status: "pending" as const, existed: false };
    const answer = answerRepeat(job, index, findKnown(context, job));
    if ("refusal" in answer) throw new RefusedAct(answer.refusal);
    return answer.job;
  });
  return { kind: "accepted", jobs };
}

/** Found by the key that the producer chose, else by the id. Without either, it cannot be recognised. */
function findKnown(context: Context, job: NewJob): KnownJob | null {
  const [condition, name] = job.isKeyChosen
    ? ["idempotency_key = ? AND is_key_chosen = 1", job.idempotencyKey]
    : ["id = ?", job.id];
  return context.sql.first<KnownJob>(
    `SELECT id, user_id AS userId, status, request_hash AS requestHash FROM jobs WHERE tenant_id = ? AND ${condition}`,
    job.tenantId,
    name,
  );
}

/** False if such a job already exists. */
function accept(context: Context, job: NewJob, origin: Origin | null): boolean {
  const queue = openQueue(context, job.queueKey);
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
  if (job.summary !== null) {
    context.sql.run(
      "INSERT INTO document_summaries (job_seq, summary) VALUES (?, ?)",
      record.seq,
      job.summary,
    );
  }
  for (const { folder_id, object_key, sha256 } of job.inputs ?? []) {
    context.sql.run(
      `INSERT INTO job_inputs (job_seq, tenant_id, folder_id, object_key, sha256) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING`,
      record.seq,
      job.tenantId,
      folder_id,
      object_key,
      sha256,
    );
  }
  applyEffects(context, effects);
  if (effects.readiness === "now") {
    context.fresh.remember(effects.after, job.document);
    context.parked.noteReady(job.createdAt);
  }
  return true;
}
