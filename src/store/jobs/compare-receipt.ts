import type { JobRecord } from "../../core/jobs/job.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { parseJson } from "../../signing/parse-json.ts";
import { isolationText, parseReceipt, type Receipt } from "../../signing/receipt-text.ts";
import type { DamagedPart } from "./find-damage.ts";

type Compared = Pick<JobRecord, "id" | "attempt" | "result" | "partialResult" | "exitCode" | "isolation">;

/**
 * The parts of a job that contradict its sealed receipt. A receipt of an earlier attempt tells nothing about this one.
 * Why: ADR 0134.
 */
export function compareReceipt(job: Compared, text: string): DamagedPart[] {
  const receipt = parseReceipt(text);
  if (receipt.job_id !== job.id) return ["receipt"];
  if (receipt.attempt > job.attempt) return ["state"];
  if (receipt.attempt < job.attempt) return [];
  const damaged: DamagedPart[] = [];
  if (receipt.exit_code !== job.exitCode) damaged.push("exit_code");
  if (isOtherIsolation(job.isolation, receipt)) damaged.push("isolation");
  const result = job.result ?? job.partialResult;
  const sha256 = result === null ? null : sha256Hex(result);
  if (sha256 !== receipt.result_sha256)
    damaged.push(job.result === null && job.partialResult !== null ? "partial_result" : "result");
  return damaged;
}

/** A report may leave the isolation to the receipt; the job has then what was reported at the start. */
function isOtherIsolation(stored: string | null, { isolation }: Receipt): boolean {
  if (stored === null || isolation === null) return false;
  try {
    return isolationText(parseJson(stored)) !== isolationText(isolation);
  } catch {
    // It is no JSON, and named as damaged by those who show it.
    return true;
  }
}
