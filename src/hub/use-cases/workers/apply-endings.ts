import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { type ClaimDetail, isClaimDetail } from "../../../core/jobs/failure.ts";
import type { ChangeAnswer, JobBrief } from "../../../store/store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import type { ReceiptBatch } from "../receipts/check-receipts.ts";
import { receiptKeeper, type Signed } from "../receipts/keep-receipts.ts";
import { isWithinReach } from "./change-attempt.ts";
import { checkOutput } from "./check-output.ts";
import { checkOutputFiles } from "./check-output-files.ts";
import { type Ending, type FailChange, resultHashOf } from "./read-ending.ts";
import { readLastLine } from "./read-last-line.ts";
import { returnJobs } from "./refuse-claim.ts";
import { checkSmallOutput } from "./small-output.ts";
import { syncOutput } from "./sync-output.ts";

type Caller = { identity: Identity; origin: Origin };

/** A worker removes its copy when the end is answered, so the hub's must be complete and on the disk by then. */
export async function secureOutput(deps: HubDeps, identity: Identity, ending: Ending): Promise<void> {
  if (!(await isWithinReach(deps, { identity, jobId: ending.jobId }))) return;
  // Most functions have none of these, and each needless call would cost a turn of the promise queue.
  if (ending.change.outputFiles !== null) await checkOutputFiles(deps, ending);
  if (ending.smallOutput !== undefined) await checkSmallOutput(deps, ending);
  if (ending.output !== undefined) await checkOutput(deps, ending);
  await syncOutput(deps, ending.jobId);
  if (ending.change.act === "fail") ending.change.lastLine = await readLastLine(deps, ending);
}

type Reported = { endings: Ending[]; signed: Signed | null };

/** Stores how attempts have ended; the answers are in the order of the endings. */
export async function applyEndings(
  deps: HubDeps,
  caller: Caller,
  { endings, signed }: Reported,
): Promise<ChangeAnswer[]> {
  const refused = endings.filter(isRefusedClaim);
  if (refused.length === 0) return storeEndings(deps, caller, { endings, signed });
  const [{ change: first }] = refused as [RefusedEnding];
  const { answers: returned } = await returnJobs(deps, {
    ...caller,
    workerId: first.fence.workerId,
    leases: refused.map(({ jobId, change }) => ({ jobId, fence: change.fence })),
    refusal: { detail: first.detail, reason: first.reason, evidence: {} },
  });
  const rest = endings.filter((ending) => !isRefusedClaim(ending));
  const applied = rest.length === 0 ? [] : await storeEndings(deps, caller, { endings: rest, signed });
  return endings.map((ending) => (isRefusedClaim(ending) ? returned : applied).shift()!);
}

type RefusedEnding = Ending & { change: FailChange & { detail: ClaimDetail } };

/** Workers that claim one job at a time, and those of version 0.1, report a claim that does not verify as a failure. */
function isRefusedClaim(ending: Ending): ending is RefusedEnding {
  return ending.change.act === "fail" && isClaimDetail(ending.change.detail);
}

async function storeEndings(
  deps: HubDeps,
  { origin }: Caller,
  { endings, signed }: Reported,
): Promise<ChangeAnswer[]> {
  await deps.failpoint("result.beforeCommit");
  const rules = rulesNow(deps);
  const keep = signed && receiptKeeper(deps, signed);
  const changes = endings.map(({ jobId, change, smallOutput, receipt }) => {
    if (keep !== null && receipt !== undefined) change.receipt = keep(receipt.sha256);
    return { jobId, change, smallOutput };
  });
  const receiptSignature = signed && { ...signed.kept, createdAt: rules.nowMs };
  // In the same group of writes, and before the result makes the row large. If it fails, it is recorded later.
  const noted = deps.outputTally.noteJobs(changes.map(({ jobId }) => jobId)).catch(() => {});
  const answers = await deps.store.changeJobs({ changes, rules, origin, receiptSignature });
  await noted;
  await deps.failpoint("result.afterCommit");
  if (signed !== null) {
    const receipts = endings.flatMap((ending, index) => toCheck(ending, answers[index]!));
    await deps.receipts.add({ ...signed.kept, signed: signed.text, receipts, origin });
  }
  return answers;
}

/** The receipt to check: none unless the outcome was accepted and has a receipt. */
function toCheck({ change, receipt, smallOutput }: Ending, answer: ChangeAnswer): ReceiptBatch["receipts"] {
  if (answer.kind !== "moved" || receipt === undefined) return [];
  const { exitCode, outputFiles, isolation } = change;
  const resultSha256 = resultHashOf(change);
  const reported = { exitCode, resultSha256, outputFiles, isolation, smallOutput };
  return [{ ...receipt, job: answer.job, ...reported }];
}

/** Counts an end that was stored. */
export function countEnd({ metrics }: HubDeps, { smallOutput }: Ending, job: JobBrief): void {
  metrics.finished.inc({ status: job.status });
  metrics.jobTimes.finished(job);
  if (smallOutput !== undefined)
    metrics.outputBytes.inc(smallOutput.stdout.length + smallOutput.stderr.length);
}
