import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { Capability } from "../../../core/jobs/queue-key.ts";
import { loadVerifyingKey } from "../../../signing/ed25519.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import {
  type HeartbeatAnswer,
  isReplaced,
  type WorkerRecord,
  type WorkerRegistration,
} from "../../../store/worker-store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { checkWorkerRate } from "../access/check-rate.ts";
import { mayServe } from "../access/tenant-wall.ts";
import { checkActsAs, findActingWorker, notYours, replacedWorker } from "./find-worker.ts";

const heartbeatsPerSecondMax = 2_000;

/** Registers a worker. A known key is not replaced just because the worker asks for it. Why: ADR 0026, ADR 0104. */
export async function registerWorker(
  deps: HubDeps,
  call: { identity: Identity; worker: WorkerRegistration; origin: Origin },
): Promise<void> {
  const known = await checkActsAs(deps, { identity: call.identity, workerId: call.worker.id });
  if (call.worker.publicKey !== null) await checkKey(deps, call.worker.publicKey, call);
  const outcome = await deps.store.registerWorker({
    worker: call.worker,
    nowMs: deps.clock.nowMs(),
    origin: call.origin,
  });
  deps.workers.forget(call.worker.id);
  if (outcome === "ok") {
    // Makes the former process claim once more, so that it learns that it was replaced.
    if (isReplaced(call.worker, known?.facts.bootId)) deps.dispatcher.tell(call.worker.id, "work", {});
    return;
  }
  if (outcome === "not_yours") throw notYours(call.identity, call.worker.id);
  throw new WritError(
    "WORKER_KEY_CONFLICT",
    `worker id ${call.worker.id} is taken: it is registered with another key; choose another id, or remove that worker with \`writ workers remove ${call.worker.id}\``,
  );
}

async function checkKey(
  deps: HubDeps,
  publicKey: string,
  { identity, origin }: { identity: Identity; origin: Origin },
): Promise<void> {
  try {
    loadVerifyingKey(publicKey);
  } catch (error) {
    if (error instanceof WritError) {
      const { tokenId: caller, tenantId } = identity;
      const details = { error: error.message };
      await deps.refusals.record({ event: "KEY_REJECTED", caller, tenantId, jobId: null, origin, details });
    }
    throw error;
  }
}

type HeartbeatCall = {
  identity: Identity;
  origin: Origin;
  workerId: string;
  bootId: string | undefined;
  /** The worker is stopping, and must get no more jobs. */
  isDraining: boolean;
  capabilities?: Capability[];
  leases: { jobId: string; attempt: number; token: string; usage?: object | undefined }[];
};

/**
 * Records that the worker is alive. Exactly the leases that it lists are renewed; the answer names those that it has
 * lost.
 */
export async function heartbeatWorker(deps: HubDeps, call: HeartbeatCall): Promise<HeartbeatAnswer> {
  const known = await checkActsAs(deps, call);
  await checkWorkerRate(deps, call, {
    limit: "heartbeats",
    perSecond: heartbeatsPerSecondMax,
    refusal: `a worker may call ${heartbeatsPerSecondMax} times a second`,
  });
  // A replaced process stops too, and its successor must still get jobs.
  if (call.isDraining && known?.draining === false && !isReplaced(known, call.bootId)) {
    const nowMs = deps.clock.nowMs();
    await deps.store.setWorker({ workerId: call.workerId, set: { draining: true }, nowMs, origin: null });
    deps.workers.forget(call.workerId);
  }
  const renewal = deps.store.heartbeatWorker({
    workerId: call.workerId,
    capabilities: call.capabilities ?? null,
    // A blocked worker cannot report, so its leases are not renewed: others get its jobs when they expire.
    leases: (known?.blocked === true ? [] : call.leases).map(({ jobId, attempt, token, usage }) => ({
      jobId,
      usage: usage && JSON.stringify(usage),
      fence: { workerId: call.workerId, attempt, tokenHash: sha256Hex(token) },
    })),
    rules: rulesNow(deps),
  });
  const answer = await deps.renewals.watch(renewal);
  deps.signsOfLife.forget(call.workerId);
  if (answer === null) {
    throw new WritError(
      "WORKER_UNKNOWN",
      `worker ${call.workerId} is not registered; call POST /workers/register first`,
    );
  }
  if (call.capabilities !== undefined) deps.workers.forget(call.workerId);
  return answer.blocked ? { ...answer, lost: call.leases.map(({ jobId }) => jobId) } : answer;
}

export async function saveWorkerMetrics(
  deps: HubDeps,
  call: { identity: Identity; workerId: string; ts: number; metrics: Record<string, number> },
): Promise<void> {
  await findActingWorker(deps, call);
  const nowMs = deps.clock.nowMs();
  // Otherwise a worker whose clock is ahead would leave samples that never age.
  const ts = call.ts > nowMs + metricsAheadMs ? nowMs : call.ts;
  await deps.store.saveWorkerMetrics({
    workerId: call.workerId,
    ts,
    metrics: JSON.stringify({ ...call.metrics, ts }),
    keepSince: nowMs - metricsKeptMs,
    keepUntil: nowMs + metricsAheadMs,
    keepMax: metricsKeptMax,
  });
}

const metricsKeptMs = 3_600_000;
/** How far the clocks of two machines may differ. */
const metricsAheadMs = 60_000;
/** A worker sends one every five seconds, which makes 720 an hour. */
const metricsKeptMax = 1_000;

/** Blocks, unblocks or drains a worker, and informs it at once. */
export async function setWorker(
  deps: HubDeps,
  call: {
    identity: Identity;
    workerId: string;
    set: { blocked?: boolean; draining?: boolean };
    origin: Origin;
  },
): Promise<WorkerRecord> {
  await checkManages(deps, call);
  const worker = await deps.store.setWorker({
    workerId: call.workerId,
    set: call.set,
    origin: call.origin,
    nowMs: deps.clock.nowMs(),
  });
  deps.workers.forget(call.workerId);
  if (worker === null) throw unknownWorker(call.workerId);
  // It got no jobs and so has no waiting claim: this makes it claim again.
  if (call.set.blocked === false) deps.dispatcher.tell(worker.id, "work", {});
  return worker;
}

/** A process that names itself removes the worker only if no later process has its name. */
export async function removeWorker(
  deps: HubDeps,
  call: { identity: Identity; workerId: string; origin: Origin; bootId?: string | undefined },
): Promise<void> {
  await checkManages(deps, call);
  const outcome = await deps.store.removeWorker({
    workerId: call.workerId,
    bootId: call.bootId,
    rules: rulesNow(deps),
    origin: call.origin,
    by: call.identity.role === "worker" ? "worker" : "person",
  });
  if (outcome === "replaced") throw replacedWorker(call.workerId);
  // A blocked worker stays known and is inactive now; an earlier call must not make it active again.
  deps.signsOfLife.forget(call.workerId);
  deps.workers.forget(call.workerId);
  if (outcome === "unknown") throw unknownWorker(call.workerId);
}

/**
 * For an administrator of one tenant, another tenant's worker does not exist. A shared one is visible but cannot be
 * changed.
 */
async function checkManages(deps: HubDeps, call: { identity: Identity; workerId: string }): Promise<void> {
  const { identity, workerId } = call;
  const worker = identity.role === "admin" ? await deps.workers.get(workerId) : null;
  if (worker !== null && !mayServe(worker, identity.tenantId)) throw unknownWorker(workerId);
  await checkActsAs(deps, call);
}

export function unknownWorker(workerId: string): WritError {
  return new WritError("NOT_FOUND", `there is no worker ${workerId}`);
}
