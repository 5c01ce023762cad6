import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { UploadOutcome } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { callerOf } from "../access/caller-of.ts";
import { uploadGone } from "./upload-ended.ts";

type UploadCall = { identity: Identity; origin: Origin; owner: { tenantId: string; jobId: string | null } };

/**
 * The ids of uploads that may begin. If the tenant has no room for them, the call is refused and the refusal recorded.
 */
export async function checkOutcome(
  deps: Pick<HubDeps, "refusals">,
  { identity, origin, owner }: UploadCall,
  outcome: UploadOutcome,
): Promise<string[]> {
  if (outcome.kind === "opened") return outcome.ids;
  if (outcome.kind === "unknown") throw uploadGone();
  const { message, details } = refusalOf(outcome);
  await deps.refusals.record({
    event: "QUOTA_EXCEEDED",
    caller: callerOf({ identity, origin }),
    tenantId: owner.tenantId,
    jobId: owner.jobId,
    origin,
    details,
  });
  throw new WritError("QUOTA_EXCEEDED", message, { ...details, retry_after_sec: 60 });
}

type OverQuota = Extract<UploadOutcome, { kind: "over_quota" | "too_many" }>;

function refusalOf(outcome: OverQuota): { message: string; details: Record<string, number> } {
  if (outcome.kind === "too_many") {
    const { unfinishedMax } = outcome;
    const message = `the tenant has ${unfinishedMax} uploads that are not finished; finish them, or wait a day`;
    return { message, details: { max_unfinished: unfinishedMax } };
  }
  const { usedBytes, maxBytes } = outcome;
  return {
    message: `the files of the tenant have ${usedBytes} of ${maxBytes} allowed bytes; delete some, or ask for a higher max_artifact_bytes`,
    details: { used_bytes: usedBytes, max_artifact_bytes: maxBytes },
  };
}
