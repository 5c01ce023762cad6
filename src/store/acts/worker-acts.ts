import type { Origin } from "../../core/events.ts";
import { workerDeregistered, workerEvent, workerSetEvents } from "../log/act-events.ts";
import { isPaused } from "../queues/claim-pause.ts";
import {
  type BlockReason,
  hasKeyConflict,
  isReplaced,
  isSameWorker,
  type RemovedWorker,
  type RemoveOutcome,
  retiredMax,
  type WorkerRecord,
  type WorkerRegistration,
  workerAfter,
} from "../worker-store.ts";
import { mayName, unknownFacts } from "../workers/worker-owner.ts";
import { type Act, all, doWork } from "./act.ts";
import type { WriteDriver } from "./driver.ts";
import { getWorkerOwner } from "./worker-owner.ts";
import { lockWorker, saveWorker, setInactive } from "./worker-rows.ts";

type RegisterInput = { worker: WorkerRegistration; nowMs: number; origin: Origin | null };

/**
 * A block survives a new registration. A drain does not, because a worker that was drained for an upgrade comes back to
 * work. Why: ADR 0026, ADR 0104.
 */
export function* registerWorker(
  driver: WriteDriver,
  input: RegisterInput,
): Act<"ok" | "key_conflict" | "not_yours"> {
  const { nowMs } = input;
  const { id: workerId, facts } = input.worker;
  const known = yield* lockWorker(driver, workerId);
  const owner = yield* getWorkerOwner(driver, { workerId, nowMs });
  if (!mayName(owner, facts.tenantId)) return "not_yours";
  const worker = { ...input.worker, facts: { ...facts, ...owner } };
  if (known !== null && hasKeyConflict(known, worker)) return "key_conflict";
  saveWorker(driver, worker, nowMs);
  driver.tellWorker(workerId);
  const saved = yield* lockWorker(driver, workerId);
  // A worker registers whenever it connects again. Its record is not repeated for what was already so.
  if (known === null || saved === null || !isSameWorker(known, saved))
    driver.append(workerEvent("WORKER_REGISTERED", worker, input));
  return "ok";
}

type SetWorkerInput = {
  workerId: string;
  set: { blocked?: boolean; draining?: boolean };
  nowMs: number;
  origin: Origin | null;
  why?: BlockReason;
};

export function* setWorker(driver: WriteDriver, input: SetWorkerInput): Act<WorkerRecord | null> {
  const { workerId, set } = input;
  const worker = yield* lockWorker(driver, workerId);
  if (worker === null) return null;
  const after = workerAfter(worker, set);
  driver.send(
    "UPDATE workers SET blocked = ?, draining = ?, refused_claims = ?, paused_until = ? WHERE id = ?",
    after.blocked,
    after.draining,
    after.refusedClaims,
    after.pausedUntil,
    workerId,
  );
  for (const event of workerSetEvents(worker, after, input)) driver.append(event);
  driver.tellWorker(workerId, after);
  return after;
}

export function* blockWorker(
  driver: WriteDriver,
  { workerId, why, nowMs }: { workerId: string; why: BlockReason; nowMs: number },
): Act<boolean> {
  const known = yield* lockWorker(driver, workerId);
  if (known?.blocked === true) return false;
  if (known === null) {
    const owner = yield* getWorkerOwner(driver, { workerId, nowMs });
    const rest = { name: null, slots: 0, keyIds: [], publicKey: null, version: null };
    saveWorker(driver, { id: workerId, facts: unknownFacts(owner ?? { tenantId: null }), ...rest }, nowMs);
    setInactive(driver, workerId);
  }
  yield* setWorker(driver, { workerId, set: { blocked: true }, nowMs, origin: null, why });
  return true;
}

/** Its jobs are treated as if their leases had expired. A blocked worker stays known, because its block must last. */
export function* removeWorker(driver: WriteDriver, input: RemovedWorker): Act<RemoveOutcome> {
  const { workerId, bootId, rules, origin, by } = input;
  const { nowMs } = rules;
  const worker = yield* lockWorker(driver, workerId);
  if (worker === null) return "unknown";
  if (isReplaced(worker, bootId)) return "replaced";
  yield* doWork(() => driver.disconnectJobs(workerId, { rules, origin }));
  if (worker.blocked || isPaused(worker, nowMs)) setInactive(driver, workerId);
  else {
    driver.send("DELETE FROM workers WHERE id = ?", workerId);
    driver.forgetWorker(workerId);
  }
  driver.append(workerDeregistered(worker, by, { nowMs, origin }));
  driver.tellWorker(workerId);
  return "ok";
}

export function* retireSilentWorkers(
  driver: WriteDriver,
  { silentSince, nowMs }: { silentSince: number; nowMs: number },
): Act<{ retired: string[] }> {
  const silent = yield* all(
    driver.workers,
    `${driver.workers.select} WHERE w.status = 'active' AND w.last_heartbeat <= ?
      ORDER BY w.last_heartbeat LIMIT ? FOR UPDATE OF w SKIP LOCKED`,
    silentSince,
    retiredMax,
  );
  for (const worker of silent) {
    setInactive(driver, worker.id);
    driver.append(workerEvent("WORKER_INACTIVE", worker, { nowMs, origin: null }));
  }
  return { retired: silent.map(({ id }) => id) };
}
