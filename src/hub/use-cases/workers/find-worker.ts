import { WritError } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import type { WorkerRecord } from "../../../store/worker-store.ts";
import type { HubDeps } from "../../deps.ts";
import { isHidden } from "../access/tenant-wall.ts";

type Acting = { identity: Identity; workerId: string };

/**
 * The worker, or null if it is not registered. A token that is bound to a worker may act only for that worker, one that
 * is bound to a tenant only for workers of that tenant, and an administrator of the hub for any. A token that is bound
 * to both needs both: an administrator who issues tokens of one tenant must not reach a worker of another, or a shared
 * one. Why: ADR 0026, ADR 0095.
 */
export async function checkActsAs(
  deps: HubDeps,
  { identity, workerId }: Acting,
): Promise<WorkerRecord | null> {
  const isBound = identity.role !== "admin" && identity.workerId !== null;
  if (isBound && identity.workerId !== workerId) {
    const isEvidence = await isForOwnWorker(deps, identity);
    throw new WritError(
      "PERMISSION_DENIED",
      `this token is for worker ${identity.workerId}, not for ${workerId}${isEvidence ? blockAdvice(identity.workerId!, workerId) : ""}`,
      isEvidence ? { token_worker_id: identity.workerId } : undefined,
    );
  }
  const worker = await deps.workers.get(workerId);
  if (worker === null || !isHidden(identity, worker.facts)) return worker;
  throw notYours(identity, workerId);
}

/** Describes the response to the evidence, so that a wrong setting is noticed before jobs fail to arrive. */
function blockAdvice(boundTo: string, workerId: string): string {
  return `; a token that is used for another worker may be stolen, so worker ${boundTo} is blocked: set NODE_ID=${boundTo}, or make a token with \`writ workers add ${workerId}\`, and let an administrator run \`writ workers unblock ${boundTo}\``;
}

/** The misuse of a token is evidence against its worker only if the worker's owner has issued it. */
async function isForOwnWorker(deps: HubDeps, { workerId, tenantId }: Identity): Promise<boolean> {
  if (workerId === null || tenantId === null) return true;
  const owner = await deps.store.getWorkerOwner({ workerId, nowMs: deps.clock.nowMs() });
  return owner?.tenantId === tenantId;
}

export function notYours({ tenantId }: Identity, workerId: string): WritError {
  return new WritError("PERMISSION_DENIED", `worker ${workerId} does not belong to tenant ${tenantId}`);
}

/**
 * The refusal for a replaced process: a name belongs to the process that registered it last. An earlier one would get
 * jobs of types that it does not handle, and would end the jobs of the later one when it leaves.
 */
export function replacedWorker(workerId: string): WritError {
  return new WritError(
    "WORKER_REPLACED",
    `another process has registered as worker ${workerId} since; stop one of the two, or give one of them another worker id`,
  );
}

/** The registered worker that makes this call, unless it is blocked. The call is a sign of life. */
export async function findActingWorker(deps: HubDeps, input: Acting): Promise<WorkerRecord> {
  const worker = await checkActsAs(deps, input);
  if (worker === null) {
    throw new WritError(
      "WORKER_UNKNOWN",
      `worker ${input.workerId} is not registered; call POST /workers/register first`,
    );
  }
  if (worker.blocked)
    throw new WritError(
      "WORKER_BLOCKED",
      `worker ${input.workerId} is blocked; an administrator can unblock it`,
    );
  deps.signsOfLife.note(worker);
  return worker;
}
