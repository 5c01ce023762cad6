import type { Origin } from "../../../core/events.ts";
import type { ChangeContext } from "../../../core/jobs/effects.ts";
import { workerDeregistered, workerEvent, workerSetEvents } from "../../log/act-events.ts";
import { isPaused } from "../../queues/claim-pause.ts";
import {
  type BlockReason,
  type HeartbeatAnswer,
  type HeartbeatInput,
  hasKeyConflict,
  heartbeatAnswer,
  isReplaced,
  isSameWorker,
  type RemovedWorker,
  type RemoveOutcome,
  retiredMax,
  type SignOfLife,
  type WorkerRecord,
  type WorkerRegistration,
  workerAfter,
} from "../../worker-store.ts";
import { mayName, unknownFacts } from "../../workers/worker-owner.ts";
import type { Context } from "../context.ts";
import { changeJob } from "../jobs/change-jobs.ts";
import { loadJobs } from "../jobs/job-row.ts";
import { writeJob } from "../jobs/write-job.ts";
import { appendEvent } from "../log/event-log.ts";
import { getWorkerOwner } from "./worker-owner.ts";
import { getWorker } from "./worker-row.ts";

/** A worker that reports is active, except while the hub is locked. */
const statusNow = "CASE WHEN EXISTS (SELECT 1 FROM lockdown) THEN 'inactive' ELSE 'active' END";

type RegisterInput = { worker: WorkerRegistration; nowMs: number; origin: Origin | null };

/**
 * A block survives a new registration. A drain does not, because a worker that was drained for an upgrade comes back to
 * work.
 */
export function registerWorker(context: Context, input: RegisterInput): "ok" | "key_conflict" | "not_yours" {
  const { nowMs } = input;
  const { id: workerId, facts } = input.worker;
  const owner = getWorkerOwner(context, { workerId, nowMs });
  if (!mayName(owner, facts.tenantId)) return "not_yours";
  const worker = { ...input.worker, facts: { ...facts, ...owner } };
  const known = getWorker(context, { workerId });
  if (known !== null && hasKeyConflict(known, worker)) return "key_conflict";
  saveWorker(context, worker, nowMs);
  context.notice.worker(workerId);
  const saved = getWorker(context, { workerId });
  // A worker registers whenever it connects again. Its record is not repeated for what was already so.
  if (known === null || saved === null || !isSameWorker(known, saved))
    appendEvent(context, workerEvent("WORKER_REGISTERED", worker, input));
  return "ok";
}

function saveWorker(context: Context, worker: WorkerRegistration, nowMs: number): void {
  context.sql.run(
    `INSERT INTO workers (id, name, facts, slots, key_ids, public_key, version, status, blocked, draining,
        registered_at, last_heartbeat, completed, failed)
      VALUES (?, ?, ?, ?, ?, ?, ?, ${statusNow}, 0, 0, ?, ?, 0, 0)
      ON CONFLICT (id) DO UPDATE SET name = excluded.name, facts = excluded.facts, slots = excluded.slots,
        key_ids = excluded.key_ids, public_key = coalesce(excluded.public_key, public_key),
        version = excluded.version, status = excluded.status, draining = 0, last_heartbeat = excluded.last_heartbeat`,
    worker.id,
    worker.name,
    JSON.stringify(worker.facts),
    worker.slots,
    JSON.stringify(worker.keyIds),
    worker.publicKey,
    worker.version,
    nowMs,
    nowMs,
  );
}

/** Renews exactly the leases listed; a lease that the worker does not know must expire. */
export function heartbeatWorker(context: Context, input: HeartbeatInput): HeartbeatAnswer | null {
  const { workerId, capabilities, rules } = input;
  const worker = getWorker(context, { workerId });
  if (worker === null) return null;
  context.sql.run(
    `UPDATE workers SET last_heartbeat = ?, status = ${statusNow}, facts = ? WHERE id = ?`,
    rules.nowMs,
    JSON.stringify(capabilities === null ? worker.facts : { ...worker.facts, capabilities }),
    workerId,
  );
  const renewals = input.leases.map(({ jobId, fence, usage }) => {
    const change = { act: "renew", fence, usage } as const;
    const answer = changeJob(context, { jobId, change }, { rules, origin: null });
    return { jobId, renewed: answer.kind === "moved" ? answer.job : null };
  });
  return heartbeatAnswer(worker, renewals);
}

type SetWorkerInput = {
  workerId: string;
  set: { blocked?: boolean; draining?: boolean };
  nowMs: number;
  origin: Origin | null;
  why?: BlockReason;
};

export function setWorker(context: Context, input: SetWorkerInput): WorkerRecord | null {
  const { workerId, set } = input;
  const worker = getWorker(context, { workerId });
  if (worker === null) return null;
  const after = workerAfter(worker, set);
  context.sql.run(
    "UPDATE workers SET blocked = ?, draining = ?, refused_claims = ?, paused_until = ? WHERE id = ?",
    Number(after.blocked),
    Number(after.draining),
    after.refusedClaims,
    after.pausedUntil,
    workerId,
  );
  for (const event of workerSetEvents(worker, after, input)) appendEvent(context, event);
  context.notice.worker(workerId, after);
  return after;
}

export function blockWorker(
  context: Context,
  { workerId, why, nowMs }: { workerId: string; why: BlockReason; nowMs: number },
): boolean {
  const known = getWorker(context, { workerId });
  if (known?.blocked === true) return false;
  if (known === null) {
    const facts = unknownFacts(getWorkerOwner(context, { workerId, nowMs }) ?? { tenantId: null });
    const rest = { name: null, slots: 0, keyIds: [], publicKey: null, version: null };
    saveWorker(context, { id: workerId, facts, ...rest }, nowMs);
    setInactive(context, workerId);
  }
  setWorker(context, { workerId, set: { blocked: true }, nowMs, origin: null, why });
  return true;
}

/** Its jobs are treated as if their leases had expired. A blocked worker stays known, because its block must last. */
export function removeWorker(
  context: Context,
  { workerId, bootId, rules, origin, by }: RemovedWorker,
): RemoveOutcome {
  const worker = getWorker(context, { workerId });
  if (worker === null) return "unknown";
  if (isReplaced(worker, bootId)) return "replaced";
  takeJobsAway(context, workerId, { rules, origin });
  if (worker.blocked || isPaused(worker, rules.nowMs)) setInactive(context, workerId);
  else context.sql.run("DELETE FROM workers WHERE id = ?", workerId);
  appendEvent(context, workerDeregistered(worker, by, { nowMs: rules.nowMs, origin }));
  context.notice.worker(workerId);
  return "ok";
}

/** There is no index by worker, so this looks at all held jobs. */
function takeJobsAway(context: Context, workerId: string, how: ChangeContext): void {
  if (context.workers.of(workerId).active === 0) return;
  const held = loadJobs(
    context,
    "WHERE due_at IS NOT NULL AND status IN ('assigned', 'running') AND worker_id = ? ORDER BY seq",
    workerId,
  );
  for (const job of held) writeJob(context, job, { act: "disconnect" }, how);
}

export function retireSilentWorkers(
  context: Context,
  { silentSince, nowMs }: { silentSince: number; nowMs: number },
): { retired: string[] } {
  const silent = context.sql.all<{ id: string }>(
    "SELECT id FROM workers WHERE status = 'active' AND last_heartbeat <= ? ORDER BY last_heartbeat LIMIT ?",
    silentSince,
    retiredMax,
  );
  const retired = silent.map(({ id }) => id);
  for (const workerId of retired) {
    const worker = getWorker(context, { workerId })!;
    setInactive(context, workerId);
    appendEvent(context, workerEvent("WORKER_INACTIVE", worker, { nowMs, origin: null }));
  }
  return { retired };
}

export function noteSignsOfLife(context: Context, { signs }: { signs: SignOfLife[] }): void {
  context.sql.run(
    `UPDATE workers SET last_heartbeat = max(last_heartbeat, heard.at), status = ${statusNow}
      FROM (SELECT value ->> 'workerId' AS id, value ->> 'atMs' AS at FROM json_each(?)) AS heard
      WHERE workers.id = heard.id`,
    JSON.stringify(signs),
  );
}

function setInactive(context: Context, workerId: string): void {
  context.sql.run("UPDATE workers SET status = 'inactive' WHERE id = ?", workerId);
}
