import type { Origin } from "../../../core/events.ts";
import { submitEffects } from "../../../core/jobs/effects.ts";
import { type NewJob, newJobRecord } from "../../../core/jobs/job.ts";
import { lanesOf } from "../../../core/lanes/lane-move.ts";
import { checkLanes } from "../../acts/check-lanes.ts";
import { RefusedAct } from "../../acts/refused-act.ts";
import { answerRepeat, type KnownJob, refusalByQuota } from "../../jobs/submit-rules.ts";
import type { SubmitOutcome } from "../../store.ts";
import { driveAct } from "../acts/drive-act.ts";
import { openQueue } from "../claims/queue-rows.ts";
import type { Context } from "../context.ts";
import { settleLanesOf } from "../lanes/settle-job.ts";
import type { JobEntry } from "./job-entry.ts";
import { keepBeside } from "./keep-beside.ts";
import { findById, findEntry } from "./load-entry.ts";
import { newEntry } from "./new-entry.ts";
import { findHolder, meetHolder } from "./unique-keys.ts";
import { applyEffects } from "./write-job.ts";

type SubmitInput = { jobs: NewJob[]; maxPending: number | null; origin: Origin | null };

export function submitJobs(context: Context, input: SubmitInput): SubmitOutcome {
  // Returned and not thrown: nothing was written yet, so there is nothing to undo.
  const isKnown = (job: NewJob): boolean =>
    findKnown(context, job) !== null || findHolder(context, job, job.createdAt) !== null;
  const refusal = refusalByQuota(context.book, input, isKnown);
  if (refusal !== null) return refusal;
  const differs = refusalByLane(context, input);
  if (differs !== null) return differs;
  const jobs = input.jobs.map((job, index) => {
    if (isFree(context, job)) {
      const met = meetHolder(context, job, { index, origin: input.origin });
      if (met !== null && "refusal" in met) throw new RefusedAct(met.refusal);
      if (met !== null) return met.job;
      accept(context, job, input.origin);
      return { id: job.id, status: "pending" as const, existed: false };
    }
    const answer = answerRepeat(job, index, findKnown(context, job));
    if ("refusal" in answer) throw new RefusedAct(answer.refusal);
    return answer.job;
  });
  return { kind: "accepted", jobs };
}

/** Jobs that exist are answered as before, whatever their lanes are now. */
function refusalByLane(context: Context, { jobs }: SubmitInput): SubmitOutcome | null {
  if (jobs.every((job) => lanesOf(job).length === 0)) return null;
  const isNew = (job: NewJob) => isFree(context, job);
  return driveAct(context.sql, checkLanes(jobs, { drafts: [], isNew }));
}

/** Found by the key that the producer chose, else by the id. Without either, it cannot be recognised. Why: ADR 0116. */
function findKnown(context: Context, job: NewJob): KnownJob | null {
  const entry = job.isKeyChosen ? findByKey(context, job) : findById(context, job.id);
  if (entry === null || entry.record.tenantId !== job.tenantId) return null;
  const { id, userId, status, requestHash } = entry.record;
  return { id, userId, status, requestHash };
}

function findByKey(context: Context, { tenantId, idempotencyKey }: NewJob): JobEntry | null {
  const known = context.sql.first<{ seq: number }>(
    "SELECT job_seq AS seq FROM job_keys WHERE tenant_id = ? AND key = ?",
    tenantId,
    idempotencyKey,
  );
  return known && findEntry(context, known.seq);
}

function isFree(context: Context, job: NewJob): boolean {
  if (!context.ids.isNew(job.id) && findById(context, job.id) !== null) return false;
  return !job.isKeyChosen || findByKey(context, job) === null;
}

function accept(context: Context, job: NewJob, origin: Origin | null): void {
  const { tallies, frame, ids } = context;
  const queue = openQueue(context, job.queueKey);
  const record = newJobRecord(job, tallies.add("job_seq", 1));
  const effects = submitEffects(record, origin);
  const place = frame.addJob(record, job.document);
  ids.add(job.id);
  const at = { frame: frame.number, place };
  context.jobs.put(newEntry(context, effects, { queueId: queue.id, at, document: job.document }));
  keepBeside(context, job, record.seq);
  applyEffects(context, queue.id, effects);
  if (record.terms !== null)
    settleLanesOf(context, {
      before: null,
      after: effects.after,
      queueId: queue.id,
      nowMs: job.createdAt,
      lingersUntil: null,
      isAnnounced: effects.notices.isReady,
    });
  if (effects.readiness === "now") context.parked.noteReady(job.createdAt);
}
