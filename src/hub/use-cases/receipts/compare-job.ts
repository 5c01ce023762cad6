import { compareReceipt } from "../../../store/jobs/compare-receipt.ts";
import type { DamagedPart } from "../../../store/jobs/find-damage.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { findReceipt } from "./keep-receipts.ts";

const dayMs = 86_400_000;

type Deps = Pick<HubDeps, "clock" | "keys" | "settings" | "store">;

/**
 * A job that the store has compared with its timeline, compared with its sealed receipt as well: what contradicts it is among
 * the damaged parts. Why: ADR 0134.
 */
export async function compareJob(deps: Deps, stored: StoredJob): Promise<StoredJob> {
  const { job, damaged, isReceiptRefused = false } = stored;
  if (job.receipt === null || isReceiptRefused || damaged.includes("receipt")) return stored;
  const found = await contradictions(deps, stored.job, job.receipt);
  return found.length === 0 ? stored : { ...stored, damaged: [...new Set([...damaged, ...found])] };
}

async function contradictions(deps: Deps, job: StoredJob["job"], kept: string): Promise<DamagedPart[]> {
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
