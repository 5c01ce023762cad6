import type { z } from "zod";
import {
  type FailRequest,
  failItem,
  type OutputSizes,
  type ResultRequest,
  resultItem,
  type SmallOutputText,
} from "../../../contract/worker-shapes.ts";
import type { AttemptReport, Change } from "../../../core/change.ts";
import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { classify } from "../../../core/failure.ts";
import type { Identity } from "../../../core/identity.ts";
import type { JsonValue } from "../../../core/json-value.ts";
import type { SmallOutput } from "../../../core/small-output.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import type { ChangeAnswer, JobBrief } from "../../../store/store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { parseShape } from "../access/parse-shape.ts";
import { fenceOf } from "./attempt-fence.ts";
import { isWithinReach, settled } from "./change-attempt.ts";
import { checkOutput } from "./check-output.ts";
import { checkOutputFiles } from "./check-output-files.ts";
import type { ReceiptBatch } from "./check-receipts.ts";
import { findActingWorker } from "./find-worker.ts";
import { keptReceipt, type Signed, signedList, signedReceipt } from "./keep-receipts.ts";
import { checkSmallOutput, readSmallOutput } from "./small-output.ts";
import { syncOutput } from "./sync-output.ts";

type Caller = { identity: Identity; origin: Origin };
type Call = Caller & { jobId: string };

/** How an attempt ended, for the store. The text of its receipt is for the check afterwards. */
type Ending = {
  jobId: string;
  change: ResultChange | FailChange;
  receiptText: string | undefined;
  output?: OutputSizes | undefined;
  smallOutput?: SmallOutput | undefined;
};
type ResultChange = Extract<Change, { act: "result" }>;
type FailChange = Extract<Change, { act: "fail" }>;

/** Reports that the attempt succeeded. The same result again is answered as a duplicate and changes nothing. */
export async function finishJob(
  deps: HubDeps,
  call: Call & { body: ResultRequest; idempotencyKey: string | null },
): Promise<{ job: JobBrief; duplicate: boolean }> {
  const worker = await findActingWorker(deps, { identity: call.identity, workerId: call.body.worker_id });
  const signed = signedReceipt(worker, call.body.receipt);
  const body = { ...call.body, receipt: keptReceipt(deps, signed) };
  const change = resultChange(call.identity, body, call.idempotencyKey);
  return finishAttempt(deps, { ...call, signed }, endingOf(call, change, signed?.text));
}

/** Reports that the attempt failed; core decides whether it is retried. */
export async function failJob(deps: HubDeps, call: Call & { body: FailRequest }): Promise<JobBrief> {
  const worker = await findActingWorker(deps, { identity: call.identity, workerId: call.body.worker_id });
  const signed = signedReceipt(worker, call.body.receipt);
  const change = failChange(call.identity, { ...call.body, receipt: keptReceipt(deps, signed) });
  return (await finishAttempt(deps, { ...call, signed }, endingOf(call, change, signed?.text))).job;
}

function endingOf(
  { jobId, body }: { jobId: string; body: { output?: OutputSizes; small_output?: SmallOutputText } },
  change: Ending["change"],
  receiptText: string | undefined,
): Ending {
  const smallOutput = readSmallOutput(body.small_output);
  return { jobId, change, receiptText, output: body.output, smallOutput };
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
  const signed = signedList(worker, call);
  const asked = await Promise.all(
    call.items.map((item) => durably(deps, call, readItem(deps, { ...call, signed }, item))),
  );
  const endings = asked.filter((one): one is Ending => !(one instanceof WritError));
  const answers = endings.length === 0 ? [] : await apply(deps, endings, signed);
  const items: ItemAnswer[] = [];
  let next = 0;
  for (const [index, one] of asked.entries()) {
    items.push(
      one instanceof WritError
        ? { jobId: jobIdOf(call.items[index]), error: one }
        : await answerItem(deps, { ...call, ...one }, answers[next++]!),
    );
  }
  return items;
}

async function durably(
  deps: HubDeps,
  { identity }: Caller,
  asked: Ending | WritError,
): Promise<Ending | WritError> {
  if (asked instanceof WritError) return asked;
  try {
    await secureOutput(deps, identity, asked);
    return asked;
  } catch (error) {
    if (error instanceof WritError) return error;
    throw error;
  }
}

/** A worker removes its copy when the end is answered, so the hub's must be complete and on the disk by then. */
async function secureOutput(deps: HubDeps, identity: Identity, ending: Ending): Promise<void> {
  if (!(await isWithinReach(deps, { identity, jobId: ending.jobId }))) return;
  await checkOutputFiles(deps, ending);
  await checkSmallOutput(deps, ending);
  await checkOutput(deps, ending);
  await syncOutput(deps, ending.jobId);
}

async function answerItem(deps: HubDeps, asked: Caller & Ending, answer: ChangeAnswer): Promise<ItemAnswer> {
  const { jobId } = asked;
  try {
    return { jobId, job: await settle(deps, asked, answer), duplicate: answer.kind === "duplicate" };
  } catch (error) {
    if (error instanceof WritError) return { jobId, error };
    throw error;
  }
}

function readItem(
  deps: HubDeps,
  call: { identity: Identity; workerId: string; signed: Signed | null },
  raw: unknown,
): Ending | WritError {
  try {
    const item = parseShape(isFailure(raw) ? failItem : resultItem, raw);
    const receipt = keptReceipt(deps, call.signed, item.receipt);
    const body = { ...item, receipt, worker_id: call.workerId };
    const change =
      "reason" in body
        ? failChange(call.identity, body)
        : resultChange(call.identity, body, body.idempotency_key ?? null);
    return endingOf({ jobId: item.job_id, body: item }, change, item.receipt);
  } catch (error) {
    if (error instanceof WritError) return error;
    throw error;
  }
}

function isFailure(item: unknown): boolean {
  return typeof item === "object" && item !== null && "reason" in item;
}

function jobIdOf(item: unknown): string | null {
  const id = typeof item === "object" && item !== null && "job_id" in item ? item.job_id : null;
  return typeof id === "string" ? id : null;
}

/** The end of one attempt, whoever reports it. */
export async function finishAttempt(
  deps: HubDeps,
  { identity, origin, signed }: Caller & { signed: Signed | null },
  ending: Ending,
): Promise<{ job: JobBrief; duplicate: boolean }> {
  await secureOutput(deps, identity, ending);
  const [answer] = await apply(deps, [ending], signed);
  const job = await settle(deps, { identity, origin, ...ending }, answer!);
  return { job, duplicate: answer!.kind === "duplicate" };
}

async function apply(deps: HubDeps, endings: Ending[], signed: Signed | null): Promise<ChangeAnswer[]> {
  await deps.failpoint("result.beforeCommit");
  const rules = rulesNow(deps);
  const changes = endings.map(({ jobId, change, smallOutput }) => ({ jobId, change, smallOutput }));
  const receiptSignature = signed && { ...signed, createdAt: rules.nowMs };
  // In the same group of writes, and before the result makes the row large. If it fails, it is recorded later.
  const noted = deps.outputTally.noteJobs(changes.map(({ jobId }) => jobId)).catch(() => {});
  const answers = await deps.store.changeJobs({ changes, rules, origin: null, receiptSignature });
  await noted;
  await deps.failpoint("result.afterCommit");
  if (signed !== null) {
    const receipts = endings.flatMap((ending, index) => toCheck(ending, answers[index]!));
    await deps.receipts.add({ ...signed, signed: signed.text, receipts });
  }
  return answers;
}

/** What has to be checked of an outcome: nothing unless it was accepted and came with a receipt. */
function toCheck(
  { change, receiptText, smallOutput }: Ending,
  answer: ChangeAnswer,
): ReceiptBatch["receipts"] {
  if (answer.kind !== "moved" || receiptText === undefined) return [];
  const { exitCode, outputFiles } = change;
  const result = change.act === "result" ? change.result : change.partialResult;
  return [{ job: answer.job, text: receiptText, exitCode, result, outputFiles, smallOutput }];
}

async function settle(deps: HubDeps, asked: Caller & Ending, answer: ChangeAnswer): Promise<JobBrief> {
  const job = await settled(deps, asked, answer);
  if (answer.kind === "moved") {
    deps.metrics.finished.inc({ status: job.status });
    deps.metrics.jobTimes.finished(job);
  }
  return job;
}

type Fields = { worker_id: string; attempt?: number; token?: string };
type Kept = { receipt: string | null };
type ResultFields = Omit<ResultRequest, keyof Fields | "receipt"> & Fields & Kept;
type FailFields = Omit<FailRequest, "receipt"> & Kept;

function resultChange(identity: Identity, body: ResultFields, key: string | null): ResultChange {
  const result = canonicalize((body.result ?? null) as JsonValue);
  return {
    act: "result",
    fence: fenceOf(identity, body),
    result,
    resultHash: checkedHash(result, body.result_hash),
    resultKey: key,
    ...reportOf(body),
  };
}

/** The hash that others can rely on is the hub's own; a worker that sends one must agree. */
function checkedHash(result: string, given: string | undefined): string {
  const hash = sha256Hex(result);
  if (given !== undefined && given.replace(/^sha256:/, "") !== hash) {
    const message = `"${given}" is not the SHA-256 of the canonical form of result, which is ${hash}`;
    throw invalidArgument({ path: "result_hash", message });
  }
  return hash;
}

function failChange(identity: Identity, body: FailFields): FailChange {
  const { code, detail } = classify(body.code ?? "EXECUTION_ERROR");
  return {
    act: "fail",
    fence: fenceOf(identity, body),
    code,
    detail: detail ?? body.detail ?? null,
    reason: body.reason,
    partialResult: body.partial_result === undefined ? null : canonicalize(body.partial_result as JsonValue),
    ...reportOf(body),
  };
}

type ReportFields = Pick<
  z.infer<typeof resultItem>,
  "started_at" | "exit_code" | "isolation" | "usage" | "output_files"
> &
  Kept;

function reportOf(body: ReportFields): AttemptReport & Pick<ResultChange, "startedAt"> {
  return {
    ...(body.started_at === undefined ? {} : { startedAt: body.started_at }),
    exitCode: body.exit_code ?? null,
    isolation: textOf(body.isolation),
    usage: textOf(body.usage),
    outputFiles: outputFilesOf(body.output_files),
    receipt: body.receipt,
  };
}

/** Canonical text, as in the receipt; null if there are none. */
function outputFilesOf(files: ReportFields["output_files"] = []): string | null {
  if (files.length === 0) return null;
  return canonicalize(files.map((file) => ({ ...file, sha256: file.sha256.replace(/^sha256:/, "") })));
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
