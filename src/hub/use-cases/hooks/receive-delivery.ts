import { templateJob } from "../../../contract/shapes/schedule-shapes.ts";
import type { JobSubmission } from "../../../contract/shapes/submit-shapes.ts";
import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { uuidV7 } from "../../../core/ids.ts";
import { macOfText } from "../../../signing/mac.ts";
import { parseJson } from "../../../signing/parse-json.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { refuseLogin } from "../access/authenticate.ts";
import { checkRate } from "../access/check-rate.ts";
import { submitJobs } from "../jobs/submit-jobs.ts";
import { isOrderSealed } from "../orders/seal-order.ts";
import { OwnerRights } from "../schedules/owner-rights.ts";
import { type Hook, hookEvent, readHook, secretOf } from "./hook-record.ts";
import { type Delivery, verifyDelivery } from "./verify-delivery.ts";

type Call = { tenant: string; name: string; delivery: Delivery; origin: Origin };

const perSecondMax = 20;

/**
 * Makes the job of a delivery, as its owner would. A delivery that was seen within the tolerance makes none, and answers the first
 * job. Why: ADR 0143.
 */
export async function receiveDelivery(deps: HubDeps, call: Call): Promise<string> {
  const { tenant, name, delivery, origin } = call;
  const order = await deps.store.getOrder({ kind: "hook", tenantId: tenant, name });
  const nowMs = deps.clock.nowMs();
  const hook = order === null ? null : await sealedHook(deps, order, origin);
  // A hook that does not exist takes the same time and gives the same answer as a wrong signature.
  const checked = hook ?? unknownHook;
  const mark = verifyDelivery(checked, delivery, { secret: secretOf(deps.keys.macKey, checked), nowMs });
  if (order === null || hook === null || mark === null) {
    const error = `a delivery to hook ${name} of tenant ${tenant} has no valid signature`;
    return refuseLogin(deps, origin, { error, message: "there is no such hook, or the signature is wrong" });
  }
  const { tenantId, userId } = order;
  await checkRate(deps, {
    limit: "hook calls",
    subject: hook.id,
    perSecond: perSecondMax,
    refusal: `a hook takes ${perSecondMax} deliveries a second`,
    tenantId,
    origin,
  });
  if (!(await new OwnerRights(deps).has({ tenantId, userId, putWith: hook.put_with })))
    throw new WritError("PERMISSION_DENIED", "the owner of this hook may no longer submit jobs");
  const { current, before } = jobIdsOf(deps.keys.macKey, hook, { mark, nowMs });
  const stored = await deps.store.getJob({ jobId: before });
  if (stored !== null && stored.job.createdAt > nowMs - hook.tolerance_sec * 1_000) return before;
  const submission = { ...submissionOf(order, hook, delivery.body), job_id: current };
  const identity = { tokenId: hook.put_with, role: "user", tenantId, userId, workerId: null } as const;
  try {
    await submitJobs(deps, { identity, submissions: [submission], origin: { ...origin, userId } });
  } catch (error) {
    // The hook was changed since the first delivery, or its sender gave the same id to another body: the first one stands.
    if (!(error instanceof WritError) || error.code !== "IDEMPOTENCY_MISMATCH") throw error;
  }
  return current;
}

const unknownHook = { id: "", salt: "", verify: "github", tolerance_sec: 0 } as const;

/** Null for a row that something else than a hub has changed. It is reported, and never used. */
async function sealedHook(deps: HubDeps, order: StandingOrder, origin: Origin): Promise<Hook | null> {
  if (isOrderSealed(deps.keys.macKey, order)) return readHook(order);
  const error = "the row of a hook does not match its seal; the hook makes no jobs";
  const details = { violation_type: "INVALID_SEAL", error };
  const happened = { event: "SECURITY_VIOLATION", details, nowMs: deps.clock.nowMs() } as const;
  const { event, tenantId, jobId, details: whole } = hookEvent(order, happened);
  const caller = `hook ${order.id}`;
  await deps.refusals.record({ event, caller, tenantId, jobId, origin, details: whole });
  return null;
}

/**
 * The id of a job follows from what the signature covers and from the part of the time in which it arrives, as long as the tolerance.
 * So the same delivery finds its job by the id, at any hub, and nothing has to be remembered.
 */
function jobIdsOf(
  macKey: Buffer,
  { id, tolerance_sec }: Hook,
  { mark, nowMs }: { mark: string; nowMs: number },
): { current: string; before: string } {
  const partMs = tolerance_sec * 1_000;
  const part = Math.floor(nowMs / partMs);
  const idOf = (at: number): string => {
    const random = macOfText(macKey, "writ hook job 1\n", JSON.stringify([id, at, mark]));
    return uuidV7(at * partMs, random.subarray(0, 16));
  };
  return { current: idOf(part), before: idOf(part - 1) };
}

/** The body is the input of the job and nothing else. */
function submissionOf(order: StandingOrder, hook: Hook, body: Uint8Array): JobSubmission {
  const template = templateJob.parse(parseJson(hook.job));
  const input = inputOf(body);
  const metadata = { ...template.metadata, hook: { name: order.name } };
  const { run } = template;
  if (run !== undefined && (run.kind === "exec_per_job" || run.kind === "persistent_http"))
    return { ...template, metadata, run: { ...run, job_input: input } };
  return { ...template, metadata, params: input };
}

function inputOf(body: Uint8Array) {
  try {
    return parseJson(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    const why = error instanceof WritError ? error.message : "it is not UTF-8";
    throw invalidArgument({ path: "body", message: `must be JSON: ${why}` });
  }
}
