import type { z } from "zod";
import type { hookBody } from "../../../contract/shapes/hook-shapes.ts";
import type { JobSubmission } from "../../../contract/shapes/submit-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { hooksAllowed } from "../../../core/jobs/quota.ts";
import type { StandingOrder } from "../../../store/order-store.ts";
import type { HubDeps } from "../../deps.ts";
import { requestText } from "../jobs/build-document.ts";
import { checkCommand } from "../jobs/command-policy.ts";
import { makeDocuments } from "../jobs/make-documents.ts";
import { findOrder, type OrderCall, tenantOf } from "../orders/find-order.ts";
import { isOrderSealed } from "../orders/seal-order.ts";
import { type Hook, hookEvent, hookOrder, readHook, secretOf } from "./hook-record.ts";

type PutCall = OrderCall & { body: z.infer<typeof hookBody>; origin: Origin };
type Put = { order: StandingOrder; isNew: boolean; secret?: string };

const toleranceSecDefault = 300;

/** Creates or changes a hook. What is the same as before changes nothing, and the secret stays. Why: ADR 0143. */
export async function putHook(deps: HubDeps, call: PutCall): Promise<Put> {
  const { identity, body, origin } = call;
  const nowMs = deps.clock.nowMs();
  const tenantId = tenantOf(call);
  const before = await findOrder(deps, { ...call, kind: "hook", to: "change" });
  const known = before !== null && isOrderSealed(deps.keys.macKey, before) ? readHook(before) : null;
  const userId = before?.userId ?? identity.userId;
  checkJob(deps, { tenantId, userId }, body.job as JobSubmission);
  const { verify, tolerance_sec = toleranceSecDefault } = body;
  const wanted = { job: requestText(body.job as JobSubmission), verify, tolerance_sec };
  if (known !== null && isSame(known, wanted)) return { order: before!, isNew: false };
  const made = { id: before?.id ?? deps.ids.recordId(), salt: deps.ids.recordId(), created_at: nowMs };
  const hook: Hook = { ...(known ?? made), ...wanted, put_with: identity.tokenId, changed_at: nowMs };
  const whose = { tenantId, userId, name: call.name, revision: before?.revision ?? 0 };
  const order = hookOrder(deps.keys.macKey, whose, hook);
  const details = { act: before === null ? "created" : "changed" };
  const event = hookEvent(order, { event: "HOOK_CHANGED", details, nowMs, origin });
  const most = hooksAllowed(await deps.quotas.get(tenantId));
  const revisionBefore = before?.revision ?? null;
  const outcome = await deps.store.putOrder({ order, revisionBefore, events: [event], most });
  if (outcome === "too_many")
    throw new WritError("QUOTA_EXCEEDED", `the tenant has ${most} hooks, which is all that it may have`);
  if (outcome === "moved") return putHook(deps, call);
  if (known !== null) return { order, isNew: false };
  return { order, isNew: before === null, secret: secretOf(deps.keys.macKey, hook) };
}

function isSame(known: Hook, wanted: Pick<Hook, "job" | "verify" | "tolerance_sec">): boolean {
  const { job, verify, tolerance_sec } = known;
  return JSON.stringify({ job, verify, tolerance_sec }) === JSON.stringify(wanted);
}

/** What every delivery would refuse is refused now. */
function checkJob(
  deps: HubDeps,
  author: { tenantId: string; userId: string },
  submission: JobSubmission,
): void {
  checkCommand(deps.settings.commands, { userId: author.userId, submission });
  const nowMs = deps.clock.nowMs();
  makeDocuments([submission], author, { nowMs, defaulted: undefined, newId: () => deps.ids.jobId(nowMs) });
}
