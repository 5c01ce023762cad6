import type { z } from "zod";
import type { refusedClaim } from "../../../contract/shapes/worker-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { ChangeAnswer } from "../../../store/store.ts";
import type { RefusedClaim } from "../../../store/worker-store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { checkRate } from "../access/check-rate.ts";
import { fenceOf } from "./attempt-fence.ts";
import { findActingWorker } from "./find-worker.ts";

type Caller = { identity: Identity; origin: Origin; workerId: string };

/** Handles a worker's report that it could not verify a claim as a whole. Why: ADR 0099. */
export async function refuseClaim(
  deps: HubDeps,
  call: Caller & { body: z.infer<typeof refusedClaim> },
): Promise<{ returned: number; pausedUntil: number }> {
  const { identity, workerId, body } = call;
  const leases = body.jobs.map(({ job_id: jobId, attempt, token, document_sha256: sha256 }) => {
    const fence = fenceOf(identity, { worker_id: workerId, attempt, token });
    return { jobId, fence, documentSha256: sha256?.replace(/^sha256:/, "") };
  });
  const { detail, reason, unreadable, key_id, signature } = body;
  const refusal = { detail, reason, evidence: { unreadable, key_id, signature } };
  const { answers, pausedUntil } = await returnJobs(deps, { ...call, leases, refusal });
  return { returned: answers.filter(({ kind }) => kind === "moved").length, pausedUntil };
}

/**
 * More than a fleet behind one broken proxy reports. A token that is not bound to one name can use many names, each
 * with its own pause.
 */
const refusalsPerSecondMax = 10;
const refusalsAtOnceMax = 200;

/**
 * Takes back the jobs of a claim that its worker could not verify. The fault lies between the hub and this worker, or
 * with one of them, so the jobs go to other workers without charge, and this worker gets none for a while. A job ends
 * only because of a fault in the hub's own record of it, which the next claim checks.
 */
export async function returnJobs(
  deps: HubDeps,
  call: Caller & Pick<RefusedClaim, "leases" | "refusal">,
): Promise<{ answers: ChangeAnswer[]; pausedUntil: number }> {
  const { identity, origin, workerId, leases, refusal } = call;
  await findActingWorker(deps, call);
  await checkRate(deps, {
    limit: "refused claims",
    subject: identity.tokenId ?? workerId,
    perSecond: refusalsPerSecondMax,
    burst: refusalsAtOnceMax,
    refusal: `one token may report ${refusalsPerSecondMax} refused claims a second`,
    tenantId: identity.tenantId,
    origin,
    details: { worker_id: workerId },
  });
  const refused = await deps.store.refuseClaim({ workerId, leases, refusal, rules: rulesNow(deps), origin });
  deps.workers.forget(workerId);
  if (refused === null) throw new WritError("WORKER_UNKNOWN", `worker ${workerId} is not registered`);
  const { pausedUntil, isNew } = refused;
  if (isNew)
    deps.logger.warn(
      { worker: workerId, jobs: leases.length, detail: refusal.detail, paused_until: new Date(pausedUntil) },
      "a worker refused a claim as not authentic; it is given no jobs for a while",
    );
  return refused;
}
