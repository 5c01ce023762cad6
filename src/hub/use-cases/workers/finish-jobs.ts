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
import { sha256Hex } from "../../../signing/mac.ts";
import type { ChangeAnswer, JobBrief } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { jobOrThrow } from "../access/job-or-throw.ts";
import { parseShape } from "../access/parse-shape.ts";
import { recordDenial } from "../access/record-denial.ts";
import { type SentList, type Signed, signedList, signedReceipt } from "../receipts/keep-receipts.ts";
import { type ReadReceipt, readReceipt, receiptsIn } from "../receipts/read-receipt.ts";
import { applyEndings, countEnd, secureOutput } from "./apply-endings.ts";
import { findActingWorker } from "./find-worker.ts";
import { functionEnding, namedByRow } from "./function-ends.ts";
import { type Ending, failChange, resultChange, resultHashOf } from "./read-ending.ts";
import { readSmallOutput } from "./small-output.ts";

type Caller = { identity: Identity; origin: Origin };
type Call = Caller & { jobId: string };

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

export type ItemAnswer =
  | { jobId: string; job: JobBrief; duplicate: boolean }
  | { jobId: string | null; error: WritError };

type ReportCall = Caller & {
  workerId: string;
  /** Rows of functions, and other outcomes. */
  ends?: unknown[] | undefined;
  items: unknown[];
  receipts?: SentList | undefined;
};

/** Several outcomes in one call, each judged by itself: a bad item does not affect the others. Rows of `ends` come first. */
export async function finishJobs(
  deps: HubDeps,
  { ends = [], ...call }: ReportCall,
): Promise<{ ends: ItemAnswer[]; items: ItemAnswer[] }> {
  const worker = await findActingWorker(deps, call);
  const read = [
    ...ends.map((row) => orRefusal(() => functionEnding(call.workerId, row))),
    ...call.items.map((item) => orRefusal(() => readItem(call, item))),
  ];
  const rawAt = (index: number) =>
    index < ends.length ? namedByRow(ends[index]) : call.items[index - ends.length];
  const receipts = read.flatMap((one, index) => receiptOf(one) ?? receiptsIn(rawAt(index)));
  const signed = signedList(worker, receipts, call.receipts);
  const secured = await Promise.all(read.map((one) => (isSecure(one) ? one : durably(deps, call, one))));
  const endings = secured.filter((one): one is Ending => !(one instanceof WritError));
  const applied = endings.length === 0 ? [] : await applyEndings(deps, call, { endings, signed });
  const answers: ItemAnswer[] = [];
  let next = 0;
  for (const [index, one] of secured.entries()) {
    if (one instanceof WritError) await noteRefused(deps, call, one);
    answers.push(
      one instanceof WritError
        ? { jobId: jobIdOf(rawAt(index)), error: one }
        : (noteEnd(deps, one, applied[next]!) ??
            (await answerItem(deps, { ...call, ...one }, applied[next]!))),
    );
    if (!(one instanceof WritError)) next++;
  }
  return { ends: answers.slice(0, ends.length), items: answers.slice(ends.length) };
}

function orRefusal(read: () => Ending): Ending | WritError {
  try {
    return read();
  } catch (error) {
    if (error instanceof WritError) return error;
    throw error;
  }
}

/** Whether there is nothing to secure: waiting for that would cost a turn of the promise queue. */
function isSecure(read: Ending | WritError): boolean {
  return read instanceof WritError || read.hasNoOutput === true;
}

/** Counts an end that was stored. Null if it was not: why has to be found out, and may have to be recorded. */
function noteEnd(deps: HubDeps, ending: Ending, answer: ChangeAnswer): ItemAnswer | null {
  if (answer.kind === "unknown" || answer.kind === "refused") return null;
  const { jobId } = ending;
  if (answer.kind === "moved") countEnd(deps, ending, answer.job);
  return { jobId, job: answer.job, duplicate: answer.kind === "duplicate" };
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

/** Why an end was not stored. */
async function answerItem(deps: HubDeps, call: Caller & Ending, answer: ChangeAnswer): Promise<ItemAnswer> {
  const { jobId } = call;
  try {
    return { jobId, job: await jobOrThrow(deps, call, answer), duplicate: false };
  } catch (error) {
    if (error instanceof WritError) return { jobId, error };
    throw error;
  }
}

function readItem(call: { identity: Identity; workerId: string }, raw: unknown): Ending {
  const { identity, workerId } = call;
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
  const [answer] = await applyEndings(deps, { identity, origin }, { endings: [ending], signed });
  const job = await jobAfterEnd(deps, { identity, origin, ...ending }, answer!);
  return { job, duplicate: answer!.kind === "duplicate" };
}

async function jobAfterEnd(deps: HubDeps, call: Caller & Ending, answer: ChangeAnswer): Promise<JobBrief> {
  const job = await jobOrThrow(deps, call, answer);
  if (answer.kind === "moved") countEnd(deps, call, job);
  return job;
}
