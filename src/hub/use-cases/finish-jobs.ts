import type { z } from "zod";
import { type FailRequest, type ResultRequest, resultItem } from "../../contract/worker-shapes.ts";
import type { AttemptReport, Change } from "../../core/change.ts";
import { WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import { classify } from "../../core/failure.ts";
import type { Identity } from "../../core/identity.ts";
import type { JobRecord } from "../../core/job.ts";
import type { JsonValue } from "../../core/json-value.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { sha256Hex } from "../../signing/mac.ts";
import type { ChangeAnswer, JobChange } from "../../store/store.ts";
import { type HubDeps, rulesNow } from "../deps.ts";
import { fenceOf } from "./attempt-fence.ts";
import { settled } from "./change-attempt.ts";
import { findActingWorker } from "./find-worker.ts";
import { keptReceipt, type Signed, signedList, signedReceipt, toCheck } from "./keep-receipts.ts";
import { parseShape } from "./parse-shape.ts";
import { syncOutput } from "./sync-output.ts";

type Caller = { identity: Identity; origin: Origin };
type Call = Caller & { jobId: string };

/** The attempt succeeded. The same result again is answered as a duplicate and changes nothing. */
export async function finishJob(
  deps: HubDeps,
  call: Call & { body: ResultRequest; idempotencyKey: string | null },
): Promise<{ job: JobRecord; duplicate: boolean }> {
  const worker = await findActingWorker(deps, { identity: call.identity, workerId: call.body.worker_id });
  const signed = signedReceipt(worker, call.body.receipt);
  const change = resultChange(
    call.identity,
    { ...call.body, receipt: keptReceipt(deps, signed) },
    call.idempotencyKey,
  );
  return finish(deps, { ...call, signed }, { jobId: call.jobId, change });
}

/** The attempt failed; core decides whether it is tried again. */
export async function failJob(deps: HubDeps, call: Call & { body: FailRequest }): Promise<JobRecord> {
  const worker = await findActingWorker(deps, { identity: call.identity, workerId: call.body.worker_id });
  const signed = signedReceipt(worker, call.body.receipt);
  const change = failChange(call.identity, { ...call.body, receipt: keptReceipt(deps, signed) });
  return (await finish(deps, { ...call, signed }, { jobId: call.jobId, change })).job;
}

export type ItemAnswer =
  | { jobId: string; job: JobRecord; duplicate: boolean }
  | { jobId: string | null; error: WritError };

/** Many endings in one call, each judged alone: a bad item spoils nobody else's. */
export async function finishJobs(
  deps: HubDeps,
  call: Caller & { workerId: string; items: unknown[]; receiptSignature?: string },
): Promise<ItemAnswer[]> {
  const worker = await findActingWorker(deps, call);
  const signed = signedList(worker, call);
  const asked = await Promise.all(
    call.items.map((item) => durably(deps, changeOf(deps, { ...call, signed }, item))),
  );
  const changes = asked.filter((one): one is JobChange => !(one instanceof WritError));
  const answers = changes.length === 0 ? [] : await apply(deps, changes, signed);
  let next = 0;
  return Promise.all(
    asked.map(async (one, index): Promise<ItemAnswer> => {
      if (one instanceof WritError) return { jobId: jobIdOf(call.items[index]), error: one };
      const answer = answers[next++]!;
      try {
        return {
          jobId: one.jobId,
          job: await ending(deps, { ...call, ...one }, answer),
          duplicate: answer.kind === "duplicate",
        };
      } catch (error) {
        if (error instanceof WritError) return { jobId: one.jobId, error };
        throw error;
      }
    }),
  );
}

/** A worker removes its copy when the ending is answered, so the hub's must be on the disk by then. */
async function durably(deps: HubDeps, asked: JobChange | WritError): Promise<JobChange | WritError> {
  if (asked instanceof WritError) return asked;
  try {
    await syncOutput(deps, asked.jobId);
    return asked;
  } catch (error) {
    if (error instanceof WritError) return error;
    throw error;
  }
}

function changeOf(
  deps: HubDeps,
  call: { identity: Identity; workerId: string; signed: Signed | null },
  raw: unknown,
): JobChange | WritError {
  try {
    const item = parseShape(resultItem, raw);
    const receipt = keptReceipt(deps, call.signed, item.receipt);
    const body = { ...item, receipt, worker_id: call.workerId };
    const change =
      "reason" in body
        ? failChange(call.identity, body)
        : resultChange(call.identity, body, body.idempotency_key ?? null);
    return { jobId: item.job_id, change };
  } catch (error) {
    if (error instanceof WritError) return error;
    throw error;
  }
}

function jobIdOf(item: unknown): string | null {
  const id = typeof item === "object" && item !== null && "job_id" in item ? item.job_id : null;
  return typeof id === "string" ? id : null;
}

async function finish(
  deps: HubDeps,
  { identity, origin, signed }: Caller & { signed: Signed | null },
  asked: JobChange,
): Promise<{ job: JobRecord; duplicate: boolean }> {
  await syncOutput(deps, asked.jobId);
  const [answer] = await apply(deps, [asked], signed);
  const job = await ending(deps, { identity, origin, ...asked }, answer!);
  return { job, duplicate: answer!.kind === "duplicate" };
}

async function apply(deps: HubDeps, changes: JobChange[], signed: Signed | null): Promise<ChangeAnswer[]> {
  await deps.failpoint("result.beforeCommit");
  const rules = rulesNow(deps);
  const receiptSignature = signed && { ...signed, createdAt: rules.nowMs };
  // In the same group of writes, and before the result makes the row large. Should it fail, it is noted later.
  const noted = deps.outputTally.noteJobs(changes.map(({ jobId }) => jobId)).catch(() => {});
  const answers = await deps.store.changeJobs({ changes, rules, origin: null, receiptSignature });
  await noted;
  await deps.failpoint("result.afterCommit");
  if (signed !== null)
    await deps.receipts.add({ ...signed, signed: signed.text, receipts: toCheck(answers) });
  return answers;
}

async function ending(deps: HubDeps, asked: Caller & JobChange, answer: ChangeAnswer): Promise<JobRecord> {
  const job = await settled(deps, asked, answer);
  if (answer.kind === "moved") deps.metrics.finished.inc({ status: job.status });
  return job;
}

type Fields = { worker_id: string; attempt?: number; token?: string };
type Kept = { receipt: string | null };
type ResultFields = Omit<ResultRequest, keyof Fields | "receipt"> & Fields & Kept;
type FailFields = Omit<FailRequest, "receipt"> & Kept;

function resultChange(
  identity: Identity,
  body: ResultFields,
  key: string | null,
): Extract<Change, { act: "result" }> {
  const result = canonicalize((body.result ?? null) as JsonValue);
  return {
    act: "result",
    fence: fenceOf(identity, body),
    result,
    resultHash: body.result_hash?.replace(/^sha256:/, "") ?? sha256Hex(result),
    resultKey: key,
    ...reportOf(body),
  };
}

function failChange(identity: Identity, body: FailFields): Extract<Change, { act: "fail" }> {
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

type ReportFields = Pick<z.infer<typeof resultItem>, "exit_code" | "isolation" | "usage" | "output_files"> &
  Kept;

function reportOf(body: ReportFields): AttemptReport {
  return {
    exitCode: body.exit_code ?? null,
    isolation: textOf(body.isolation),
    usage: textOf(body.usage),
    outputFiles: textOf(body.output_files),
    receipt: body.receipt,
  };
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
