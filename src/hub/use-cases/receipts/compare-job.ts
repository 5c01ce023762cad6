import { compareReceipt } from "../../../store/jobs/compare-receipt.ts";
import type { DamagedPart } from "../../../store/jobs/find-damage.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { findReceipt } from "./keep-receipts.ts";

const dayMs = 86_400_000;

type Deps = Pick<HubDeps, "clock" | "keys" | "receipts" | "settings" | "store">;

/**
 * A job that the store has compared with its timeline, compared with its sealed receipt as well: what contradicts it is among
 * the damaged parts. Why: ADR 0134.
 */
export async function compareJob(deps: Deps, stored: StoredJob): Promise<StoredJob> {
  if ((await contradictions(deps, stored)).length === 0) return stored;
  // The report of its end may have come a moment ago: that its receipt is refused is known when that is checked.
  await deps.receipts.checked();
  const again = (await deps.store.getJob({ jobId: stored.job.id, isCompared: true })) ?? stored;
  return { ...again, damaged: [...new Set([...again.damaged, ...(await contradictions(deps, again))])] };
}

/** None of a job whose receipt says nothing: there is none, it was refused, or it is known to be damaged. */
async function contradictions(
  deps: Deps,
  { job, damaged, isReceiptRefused = false }: StoredJob,
): Promise<DamagedPart[]> {
  const { receipt: kept } = job;
  if (kept === null || isReceiptRefused || damaged.includes("receipt")) return [];
  const receipt = await findReceipt(deps, kept);
  if (receipt === null) return isSignatureKept(deps, job) ? ["receipt"] : [];
  return receipt.isSealed ? compareReceipt(job, receipt.text) : ["receipt"];
}

/** Whether retention cannot have taken the signature of a receipt of this job yet. */
export function isSignatureKept(
  { clock, settings }: Pick<HubDeps, "clock" | "settings">,
  { createdAt }: { createdAt: number },
): boolean {
  const days = Math.max(settings.auditColdDays, settings.jobRetentionDays);
  return createdAt > clock.nowMs() - days * dayMs;
}
