import { WritError } from "../../core/errors.ts";
import type { Identity } from "../../core/identity.ts";
import type { WorkerRecord } from "../../store/store.ts";
import type { HubDeps } from "../deps.ts";

/** A token that is bound to a worker speaks for that worker only; an administrator may speak for any. */
export function checkActsAs(identity: Identity, workerId: string): void {
  if (identity.role === "admin" || identity.workerId === null || identity.workerId === workerId) return;
  throw new WritError(
    "PERMISSION_DENIED",
    `this token speaks for worker ${identity.workerId}, not for ${workerId}`,
  );
}

/** The registered worker that this call speaks for, unless it is blocked. */
export async function findActingWorker(
  deps: HubDeps,
  input: { identity: Identity; workerId: string },
): Promise<WorkerRecord> {
  checkActsAs(input.identity, input.workerId);
  const worker = await deps.workers.get(input.workerId);
  if (worker === null) {
    throw new WritError(
      "WORKER_UNKNOWN",
      `worker ${input.workerId} is not registered: POST /workers/register first`,
    );
  }
  if (worker.blocked)
    throw new WritError("WORKER_BLOCKED", `worker ${input.workerId} is blocked by an administrator`);
  return worker;
}
