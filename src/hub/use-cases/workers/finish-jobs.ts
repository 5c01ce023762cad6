import {
  type FailRequest,
  failItem,
  type OutputSizes,
  type ResultRequest,
  resultItem,
  type SmallOutputText,
} from "../../../contract/shapes/report-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { type ClaimDetail, isClaimDetail } from "../../../core/jobs/failure.ts";
import type { SmallOutput } from "../../../core/jobs/small-output.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import type { ChangeAnswer, JobBrief } from "../../../store/store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { jobOrThrow } from "../access/job-or-throw.ts";
import { parseShape } from "../access/parse-shape.ts";
import { recordDenial } from "../access/record-denial.ts";
import type { ReceiptBatch } from "../receipts/check-receipts.ts";
import { receiptKeeper, type Signed, signedList, signedReceipt } from "../receipts/keep-receipts.ts";
import { type ReadReceipt, readReceipt, receiptsIn } from "../receipts/read-receipt.ts";
import { isWithinReach } from "./change-attempt.ts";
import { checkOutput } from "./check-output.ts";
import { checkOutputFiles } from "./check-output-files.ts";
import { findActingWorker } from "./find-worker.ts";
import { type FailChange, failChange, type ResultChange, resultChange } from "./read-ending.ts";
import { readLastLine } from "./read-last-line.ts";
import { returnJobs } from "./refuse-claim.ts";
import { checkSmallOutput, readSmallOutput } from "./small-output.ts";
import { syncOutput } from "./sync-output.ts";

type Caller = { identity: Identity; origin: Origin };
type Call = Caller & { jobId: string };

/** How an attempt ended, for the store. Its receipt is for the later check. */
type Ending = {
  jobId: string;
  change: ResultChange | FailChange;
  receipt: ReadReceipt | undefined;
  output?: OutputSizes | undefined;
  smallOutput?: SmallOutput | undefined;
};

/** Reports that the attempt succeeded. The same result again is answered as a duplicate and changes nothing. */
export async function finishJob(
  deps: HubDeps,
  call: Call & { body: ResultRequest; idempotencyKey: string | null },
): Promise<{ job: JobBrief; duplicate: boolean }> {
  const worker = await findActingWorker(deps, { identity: call.identity, workerId: call.body.worker_id });
  const signed = signedReceipt(worker, call.body.receipt);
  const change = resultChange(call.identity, call.body, call.idempotencyKey);
  return finishAttempt(deps, { ...call, signed }, endingOf(call, change, singleReceipt(signed)));
}

/** Reports that the attempt failed; core decides whether it is retried. */
export async function failJob(deps: HubDeps, call: Call & { body: FailRequest }): Promise<JobBrief> {
  const worker = await findActingWorker(deps, { identity: call.identity, workerId: call.body.worker_id });
  const signed = signedReceipt(worker, call.body.receipt);
  const ending = endingOf(call, failChange(call.identity, call.body), singleReceipt(signed));
  return (await finishAttempt(deps, { ...call, signed }, ending)).job;
}

function endingOf(
  { jobId, body }: { jobId: string; body: { output?: OutputSizes; small_output?: SmallOutputText } },
  change: Ending["change"],
  receipt: ReadReceipt | undefined,
): Ending {
  const smallOutput = readSmallOutput(body.small_output);
  return { jobId, change, receipt, output: body.output, smallOutput };
}

function singleReceipt(signed: Signed | null): ReadReceipt | undefined {
  return signed === null ? undefined : { text: signed.text, sha256: sha256Hex(signed.text) };
}

type ItemAnswer =
  | { jobId: string; job: JobBrief; duplicate: boolean }
  | { jobId: string | null; error: WritError };

/** Several outcomes in one call, each judged by itself: a bad item does not affect the others. */
export async function finishJobs(
  deps: HubDeps,
  call: Caller & { workerId: string; items: unknown[]; receiptSignature?: string },
): Promise<ItemAnswer[]> {
  const worker = await findActingWorker(deps, call);
  const read = call.items.map((item) => readItem(call, item));
  const receipts = receiptsIn(call.items, (index) => receiptOf(read[index]!));
  const signed = signedList(worker, receipts, call.receiptSignature);
  const secured = await Promise.all(read.map((one) => durably(deps, call, one)));
  const endings = secured.filter((one): one is Ending => !(one instanceof WritError));
  const answers = endings.length === 0 ? [] : await apply(deps, call, { endings, signed });
  const items: ItemAnswer[] = [];
  let next = 0;
  for (const [index, one] of secured.entries()) {
    if (one instanceof WritError) await noteRefused(deps, call, one);
    items.push(
      one instanceof WritError
        ? { jobId: jobIdOf(call.items[index]), error: one }
        : await answerItem(deps, { ...call, ...one }, answers[next++]!),
    );
  }
  return items;
}

/**
 * Records the refusal of an item, which passes no transport. The item is refused for its own reason in any case, and
 * the others have ended: neither a limit nor a failure to record it changes the answers.
 */
async function noteRefused(deps: HubDeps, caller: Caller, error: WritError): Promise<void> {
  await recordDenial(deps, caller, error).catch((failure: unknown) =>
    deps.failures.error(failure, "a refused item could not be recorded"),
  );
}

function receiptOf(read: Ending | WritError): ReadReceipt | undefined {
  return read instanceof WritError ? undefined : read.receipt;
}

async function durably(
  deps: HubDeps,
  { identity }: Caller,
  read: Ending | WritError,
): Promise<Ending | WritError> {
  if (read instanceof WritError) return read;
  try {
    await secureOutput(deps, identity, read);
    return read;
  } catch (error) {
    if (error instanceof WritError) return error;
    throw error;
  }
}

/** A worker removes its copy when the end is answered, so the hub's must be complete and on the disk by then. */
async function secureOutput(deps: HubDeps, identity: Identity, ending: Ending): Promise<void> {
  if (!(await isWithinReach(deps, { identity, jobId: ending.jobId }))) return;
  // Most functions have none of these, and each needless call would cost a turn of the promise queue.
  if (ending.change.outputFiles !== null) await checkOutputFiles(deps, ending);
  if (ending.smallOutput !== undefined) await checkSmallOutput(deps, ending);
  if (ending.output !== undefined) await checkOutput(deps, ending);
  await syncOutput(deps, ending.jobId);
  if (ending.change.act === "fail") ending.change.lastLine = await readLastLine(deps, ending);
}

async function answerItem(deps: HubDeps, call: Caller & Ending, answer: ChangeAnswer): Promise<ItemAnswer> {
  const { jobId } = call;
  try {
    return { jobId, job: await jobAfterEnd(deps, call, answer), duplicate: answer.kind === "duplicate" };
  } catch (error) {
    if (error instanceof WritError) return { jobId, error };
    throw error;
  }
}

function readItem(call: { identity: Identity; workerId: string }, raw: unknown): Ending | WritError {
  const { identity, workerId } = call;
  try {
    const item = parseShape(isFailure(raw) ? failItem : resultItem, raw);
    const body = { ...item, worker_id: workerId };
    const change =
      "reason" in body
        ? failChange(identity, body)
        : resultChange(identity, body, body.idempotency_key ?? null);
    const { receipt_parts: parts } = item;
    if (parts?.started_at !== undefined) change.ranMs = parts.ended_at - parts.started_at;
    const resultSha256 = resultHashOf(change);
    const receipt = readReceipt(item, { workerId, resultSha256, outputFiles: change.outputFiles });
    return endingOf({ jobId: item.job_id, body: item }, change, receipt);
  } catch (error) {
    if (error instanceof WritError) return error;
    throw error;
  }
}

function resultHashOf(change: ResultChange | FailChange): string | null {
  if (change.act === "result") return change.resultHash;
  return change.partialResult === null ? null : sha256Hex(change.partialResult);
}

function isFailure(item: unknown): boolean {
  return typeof item === "object" && item !== null && "reason" in item;
}

function jobIdOf(item: unknown): string | null {
  const id = typeof item === "object" && item !== null && "job_id" in item ? item.job_id : null;
  return typeof id === "string" ? id : null;
}

/** Ends one attempt, for a worker or for the job itself. */
export async function finishAttempt(
  deps: HubDeps,
  { identity, origin, signed }: Caller & { signed: Signed | null },
  ending: Ending,
): Promise<{ job: JobBrief; duplicate: boolean }> {
  await secureOutput(deps, identity, ending);
  const [answer] = await apply(deps, { identity, origin }, { endings: [ending], signed });
  const job = await jobAfterEnd(deps, { identity, origin, ...ending }, answer!);
  return { job, duplicate: answer!.kind === "duplicate" };
}

type Reported = { endings: Ending[]; signed: Signed | null };

/** The answers are in the order of the endings. */
async function apply(deps: HubDeps, caller: Caller, { endings, signed }: Reported): Promise<ChangeAnswer[]> {
  const refused = endings.filter(isRefusedClaim);
  if (refused.length === 0) return applyEndings(deps, caller, { endings, signed });
  const [{ change: first }] = refused as [RefusedEnding];
  const { answers: returned } = await returnJobs(deps, {
    ...caller,
    workerId: first.fence.workerId,
    leases: refused.map(({ jobId, change }) => ({ jobId, fence: change.fence })),
    refusal: { detail: first.detail, reason: first.reason, evidence: {} },
  });
  const rest = endings.filter((ending) => !isRefusedClaim(ending));
  const applied = rest.length === 0 ? [] : await applyEndings(deps, caller, { endings: rest, signed });
  return endings.map((ending) => (isRefusedClaim(ending) ? returned : applied).shift()!);
}

type RefusedEnding = Ending & { change: FailChange & { detail: ClaimDetail } };

/** Workers that claim one job at a time, and those of version 0.1, report a claim that does not verify as a failure. */
function isRefusedClaim(ending: Ending): ending is RefusedEnding {
  return ending.change.act === "fail" && isClaimDetail(ending.change.detail);
}

async function applyEndings(
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
  const { exitCode, outputFiles } = change;
  const resultSha256 = resultHashOf(change);
  return [{ ...receipt, job: answer.job, exitCode, resultSha256, outputFiles, smallOutput }];
}

async function jobAfterEnd(deps: HubDeps, call: Caller & Ending, answer: ChangeAnswer): Promise<JobBrief> {
  const job = await jobOrThrow(deps, call, answer);
  if (answer.kind === "moved") {
    deps.metrics.finished.inc({ status: job.status });
    deps.metrics.jobTimes.finished(job);
    const { smallOutput } = call;
    if (smallOutput !== undefined)
      deps.metrics.outputBytes.inc(smallOutput.stdout.length + smallOutput.stderr.length);
  }
  return job;
}
