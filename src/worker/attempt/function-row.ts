import type { RunOutcome } from "../../runners/runner.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { functionReceiptText } from "../../signing/receipt.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import type { HubCalls } from "../hub/hub-calls.ts";
import type { AttemptOutput } from "./attempt-output.ts";
import { canonicalResult } from "./receipt.ts";
import type { Report } from "./report-results.ts";

type EndFacts = {
  startedAtMs: number | null;
  endedAtMs: number;
  output: Pick<AttemptOutput, "hasFiles" | "small">;
};

/**
 * The row for a function that succeeded inside the worker and wrote nothing; null for every other outcome, and for a hub that
 * does not read rows. Why: ADR 0125.
 */
export function functionRow(
  { calls }: { calls: Pick<HubCalls, "accepts"> },
  { lease, claim }: HeldJob,
  outcome: RunOutcome,
  { startedAtMs, endedAtMs, output }: EndFacts,
): Report | null {
  if (!isPlain(outcome) || startedAtMs === null || output.hasFiles || output.small !== undefined) return null;
  if (!calls.accepts("ends")) return null;
  const result = canonicalResult(outcome.resultJson);
  if (result === null) return null;
  const { job_id, attempt, worker_id, token } = lease;
  const { documentSha256, signedSha256: leaseSha256 } = claim;
  const receipt = functionReceiptText({
    job_id,
    attempt,
    worker_id,
    document_sha256: documentSha256,
    result_sha256: result.sha256,
    started_at: startedAtMs,
    ended_at: endedAtMs,
  });
  const sha256 = sha256Hex(receipt);
  const text = `["${job_id}",${attempt},"${token}","${documentSha256}",${startedAtMs},${endedAtMs},"${sha256}",${result.text}]`;
  return { text, isRow: true, receipt: { sha256, leaseSha256 } };
}

type Succeeded = Extract<RunOutcome, { kind: "succeeded" }>;

function isPlain(outcome: RunOutcome): outcome is Succeeded {
  if (outcome.kind !== "succeeded") return false;
  const { exitCode, usage, outputFiles, isolation } = outcome;
  if (exitCode !== undefined || usage !== undefined || outputFiles !== undefined) return false;
  if (isolation?.level !== "in-process" || isolation.applied.length + isolation.missing.length > 0)
    return false;
  return isolation.cgroup === undefined && isolation.network === undefined;
}
