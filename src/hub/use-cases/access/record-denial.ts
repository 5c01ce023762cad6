import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";
import { recordEvent } from "../audit/record-event.ts";

/** Records every denial in the audit trail once: a transport calls this where errors pass. */
export async function recordDenial(
  deps: Pick<HubDeps, "store" | "clock">,
  call: { identity: Identity; origin: Origin },
  error: unknown,
): Promise<void> {
  if (!(error instanceof WritError) || error.code !== "PERMISSION_DENIED") return;
  const jobId = (error.details?.["job_id"] as string | undefined) ?? null;
  const boundTo = (error.details?.["token_worker_id"] as string | undefined) ?? null;
  if (boundTo !== null) return recordStrayToken(deps, call, { workerId: boundTo, error: error.message });
  await recordEvent(deps, {
    event: "PERMISSION_DENIED",
    tenantId: call.identity.tenantId,
    jobId,
    origin: call.origin,
    details: { role: call.identity.role, error: error.message, ...(jobId === null ? {} : { job_id: jobId }) },
  });
}

/**
 * A token that was made for one worker has leaked, or its worker is lying: both count as evidence against that worker.
 */
async function recordStrayToken(
  deps: Pick<HubDeps, "store" | "clock">,
  { identity, origin }: { identity: Identity; origin: Origin },
  { workerId, error }: { workerId: string; error: string },
): Promise<void> {
  await recordEvent(deps, {
    event: "SECURITY_VIOLATION",
    tenantId: identity.tenantId,
    origin,
    details: {
      violation_type: "TOKEN_OUTSIDE_WORKER",
      worker_id: workerId,
      evidence_against: workerId,
      token_id: identity.tokenId,
      error,
    },
  });
}
