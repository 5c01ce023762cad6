import type { Origin } from "../../../core/events.ts";
import type { ChangeContext } from "../../../core/jobs/effects.ts";
import { workerDeregistered, workerEvent, workerSetEvents } from "../../log/act-events.ts";
import { isPaused } from "../../queues/claim-pause.ts";
import {
  type BlockReason,
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
import { writeJob } from "../jobs/change-jobs.ts";
import type { Answer } from "../transaction/answers.ts";
import { type LockedJobs, lockJobs } from "../transaction/lock-jobs.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { getWorkerOwner } from "./worker-owner.ts";
import { lockWorker, lockWorkers } from "./worker-row.ts";

/** A worker that reports is active, except while the hub is locked. */
const statusNow = "CASE WHEN EXISTS (SELECT 1 FROM lockdown) THEN 'inactive' ELSE 'active' END";

type RegisterInput = { worker: WorkerRegistration; nowMs: number; origin: Origin | null };

/**
 * A block survives a new registration. A drain does not, because a worker that was drained for an upgrade comes back to
 * work.
 */
export async function registerWorker(
  tx: Transaction,
  input: RegisterInput,
): Promise<"ok" | "key_conflict" | "not_yours"> {
  const { nowMs } = input;
  const { id: workerId, facts } = input.worker;
  const known = await lockWorker(tx.sql, workerId);
  const owner = await getWorkerOwner(tx.sql, { workerId, nowMs });
  if (!mayName(owner, facts.tenantId)) return "not_yours";
  const worker = { ...input.worker, facts: { ...facts, ...owner } };
  if (known !== null && hasKeyConflict(known, worker)) return "key_conflict";
  saveWorker(tx, worker, nowMs);
  tellWorker(tx, worker.id);
  const saved = await lockWorker(tx.sql, workerId);
  // A worker registers whenever it connects again. Its record is not repeated for what was already so.
  if (known === null || saved === null || !isSameWorker(known, saved))
    tx.log(workerEvent("WORKER_REGISTERED", worker, input));
  return "ok";
}

function saveWorker(tx: Transaction, worker: WorkerRegistration, nowMs: number): void {
  tx.send(
    `INSERT INTO workers (id, name, facts, slots, key_ids, public_key, version, status, blocked, draining,
        registered_at, last_heartbeat)
      VALUES ($1, $2, $3, $4, $5, $6, $7, ${statusNow}, FALSE, FALSE, $8, $8)
      ON CONFLICT (id) DO UPDATE SET name = excluded.name, facts = excluded.facts, slots = excluded.slots,
        key_ids = excluded.key_ids, public_key = coalesce(excluded.public_key, workers.public_key),
        version = excluded.version, status = excluded.status, draining = FALSE,
        last_heartbeat = excluded.last_heartbeat`,
    worker.id,
    worker.name,
    JSON.stringify(worker.facts),
    worker.slots,
    JSON.stringify(worker.keyIds),
    worker.publicKey,
    worker.version,
    nowMs,
  );
  tx.send(
    "INSERT INTO worker_counts (worker_id, completed, failed) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING",
    worker.id,
  );
}

const heartbeatText = `UPDATE workers w SET last_heartbeat = h.at, status = ${statusNow}, facts = h.facts
  FROM unnest($1::text[], $2::bigint[], $3::text[]) AS h (id, at, facts) WHERE w.id = h.id`;

/** Renews exactly the leases listed; a lease that the worker does not know must expire. */
export async function heartbeatWorker(tx: Transaction, inputs: HeartbeatInput[]): Promise<Answer[]> {
  const ids = [...new Set(inputs.map(({ workerId }) => workerId))];
  const workers = await tx.begin(() => lockWorkers(tx.sql, ids));
  const known = inputs.filter(({ workerId }) => workers.has(workerId));
  const jobs = await lockJobs(
    tx,
    known.flatMap(({ leases }) => leases.map(({ jobId }) => jobId)),
  );
  const seen = new Map<string, HeartbeatInput["rules"]["nowMs"]>();
  const answers = tx.inBook(() =>
    inputs.map((input) => {
      const worker = workers.get(input.workerId);
      if (worker === undefined) return { value: null };
      seen.set(worker.id, input.rules.nowMs);
      const { capabilities } = input;
      if (capabilities !== null)
        workers.set(worker.id, { ...worker, facts: { ...worker.facts, capabilities } });
      return { value: heartbeatAnswer(worker, renewLeases(tx, jobs, input)) };
    }),
  );
  if (seen.size > 0)
    tx.send(
      heartbeatText,
      [...seen.keys()],
      [...seen.values()],
      Array.from(seen.keys(), (id) => JSON.stringify(workers.get(id)!.facts)),
    );
  return answers;
}

/** Inside of `inBook`. */
function renewLeases(tx: Transaction, jobs: LockedJobs, { leases, rules }: HeartbeatInput) {
  return leases.map(({ jobId, fence, usage }) => {
    const kept = jobs.get(jobId);
    if (kept === undefined) return { jobId, renewed: null };
    const answer = writeJob(tx, jobs, kept, { act: "renew", fence, usage }, { rules, origin: null });
    return { jobId, renewed: answer.kind === "moved" ? answer.job : null };
  });
}

type SetWorkerInput = {
  workerId: string;
  set: { blocked?: boolean; draining?: boolean };
  nowMs: number;
  origin: Origin | null;
  why?: BlockReason;
};

export async function setWorker(tx: Transaction, input: SetWorkerInput): Promise<WorkerRecord | null> {
  const { workerId, set } = input;
  const worker = await lockWorker(tx.sql, workerId);
  if (worker === null) return null;
  const after = workerAfter(worker, set);
  tx.send(
    "UPDATE workers SET blocked = $1, draining = $2, refused_claims = $3, paused_until = $4 WHERE id = $5",
    after.blocked,
    after.draining,
    after.refusedClaims,
    after.pausedUntil,
    workerId,
  );
  for (const event of workerSetEvents(worker, after, input)) tx.log(event);
  tellWorker(tx, workerId, after);
  return after;
}

export async function blockWorker(
  tx: Transaction,
  { workerId, why, nowMs }: { workerId: string; why: BlockReason; nowMs: number },
): Promise<boolean> {
  const known = await lockWorker(tx.sql, workerId);
  if (known?.blocked === true) return false;
  if (known === null) {
    const owner = await getWorkerOwner(tx.sql, { workerId, nowMs });
    const rest = { name: null, slots: 0, keyIds: [], publicKey: null, version: null };
    saveWorker(tx, { id: workerId, facts: unknownFacts(owner ?? { tenantId: null }), ...rest }, nowMs);
    setInactive(tx, workerId);
  }
  await setWorker(tx, { workerId, set: { blocked: true }, nowMs, origin: null, why });
  return true;
}

/** Its jobs are treated as if their leases had expired. A blocked worker stays known, because its block must last. */
export async function removeWorker(
  tx: Transaction,
  { workerId, bootId, rules, origin, by }: RemovedWorker,
): Promise<RemoveOutcome> {
  const worker = await lockWorker(tx.sql, workerId);
  if (worker === null) return "unknown";
  if (isReplaced(worker, bootId)) return "replaced";
  await takeJobsAway(tx, workerId, { rules, origin });
  if (worker.blocked || isPaused(worker, rules.nowMs)) setInactive(tx, workerId);
  else {
    tx.send("DELETE FROM workers WHERE id = $1", workerId);
    tx.work.forgottenWorkers.push(workerId);
  }
  tx.log(workerDeregistered(worker, by, { nowMs: rules.nowMs, origin }));
  tellWorker(tx, workerId);
  return "ok";
}

async function takeJobsAway(tx: Transaction, workerId: string, how: ChangeContext): Promise<void> {
  const held = await tx.sql.all<{ id: string }>(
    "SELECT j.id FROM active s JOIN jobs j USING (seq) WHERE s.worker_id = $1 ORDER BY s.seq",
    workerId,
  );
  const jobs = await lockJobs(
    tx,
    held.map(({ id }) => id),
  );
  tx.inBook(() => {
    for (const kept of [...jobs.values()].sort((a, b) => a.job.seq - b.job.seq)) {
      // It may have ended, or gone to another, before it was locked.
      if (kept.place === "active" && kept.job.workerId === workerId)
        writeJob(tx, jobs, kept, { act: "disconnect" }, how);
    }
  });
}

export async function retireSilentWorkers(
  tx: Transaction,
  { silentSince, nowMs }: { silentSince: number; nowMs: number },
): Promise<{ retired: string[] }> {
  const silent = await tx.sql.all<{ id: string }>(
    `SELECT id FROM workers WHERE status = 'active' AND last_heartbeat <= $1 ORDER BY last_heartbeat LIMIT $2
      FOR UPDATE SKIP LOCKED`,
    silentSince,
    retiredMax,
  );
  const retired = silent.map(({ id }) => id);
  for (const workerId of retired) {
    const worker = await lockWorker(tx.sql, workerId);
    setInactive(tx, workerId);
    tx.log(workerEvent("WORKER_INACTIVE", worker!, { nowMs, origin: null }));
  }
  return { retired };
}

/** Locked in the order in which everybody locks workers. */
const signsText = `WITH heard AS (SELECT id, at FROM unnest($1::text[], $2::bigint[]) AS h (id, at)),
    locked AS (SELECT w.id FROM workers w WHERE w.id = ANY ($1) ORDER BY w.id FOR UPDATE)
  UPDATE workers w SET last_heartbeat = greatest(w.last_heartbeat, h.at), status = ${statusNow}
  FROM heard h JOIN locked l USING (id) WHERE w.id = h.id`;

export async function noteSignsOfLife(tx: Transaction, { signs }: { signs: SignOfLife[] }): Promise<void> {
  tx.send(
    signsText,
    signs.map(({ workerId }) => workerId),
    signs.map(({ atMs }) => atMs),
  );
}

/** Whatever waits for the worker, at whichever hub, was asked for by what it was before. */
export function tellWorker({ work }: Transaction, workerId: string, now?: { draining: boolean }): void {
  work.notice.worker(workerId, now);
  work.isNews = true;
}

function setInactive(tx: Transaction, workerId: string): void {
  tx.send("UPDATE workers SET status = 'inactive' WHERE id = $1", workerId);
}
