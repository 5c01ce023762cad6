import type { z } from "zod";
import type {
  FailRequest,
  OutputSizes,
  ResultRequest,
  resultItem,
} from "../../../contract/shapes/report-shapes.ts";
import { invalidArgument } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import type { AttemptReport, Change } from "../../../core/jobs/change.ts";
import { classify, isClaimDetail, isSecurityDetail } from "../../../core/jobs/failure.ts";
import type { SmallOutput } from "../../../core/jobs/small-output.ts";
import type { JsonValue } from "../../../core/text/json-value.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import type { ReadReceipt } from "../receipts/read-receipt.ts";
import { fenceOf } from "./attempt-fence.ts";

type ResultChange = Extract<Change, { act: "result" }>;
export type FailChange = Extract<Change, { act: "fail" }>;

/** How an attempt ended, for the store. Its receipt is for the later check. */
export type Ending = {
  jobId: string;
  change: ResultChange | FailChange;
  receipt: ReadReceipt | undefined;
  output?: OutputSizes | undefined;
  smallOutput?: SmallOutput | undefined;
  /** It wrote nothing, so that there is nothing to sync before it is answered. */
  hasNoOutput?: true;
};

type Fields = { worker_id: string; attempt?: number; token?: string };
type ResultFields = Omit<ResultRequest, keyof Fields | "receipt"> & Fields;
type FailFields = Omit<FailRequest, "receipt"> & { receipt?: unknown; receipt_parts?: unknown };

/** A reported result as a change of its job. Why: ADR 0009, ADR 0057. */
export function resultChange(identity: Identity, body: ResultFields, key: string | null): ResultChange {
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

/** The result of a function that returns nothing. */
const nullSha256 = sha256Hex("null");

export function resultSha256(result: string): string {
  return result === "null" ? nullSha256 : sha256Hex(result);
}

/** Returns the hub's own hash; a hash that a worker sends must be equal. */
function checkedHash(result: string, given: string | undefined): string {
  const hash = resultSha256(result);
  if (given !== undefined && given.replace(/^sha256:/, "") !== hash) {
    const message = `"${given}" is not the SHA-256 of the canonical form of result, which is ${hash}`;
    throw invalidArgument({ path: "result_hash", message });
  }
  return hash;
}

/** A reported failure as a change of its job. */
export function failChange(identity: Identity, body: FailFields): FailChange {
  return {
    act: "fail",
    fence: fenceOf(identity, body),
    ...failureOf(body),
    reason: body.reason,
    ...(body.final ? { isFinal: true } : {}),
    ...(body.retry_in_sec === undefined ? {} : { retryInSec: body.retry_in_sec }),
    partialResult: body.partial_result === undefined ? null : canonicalize(body.partial_result as JsonValue),
    ...reportOf(body),
  };
}

/**
 * A worker does not run a claim that it cannot verify. So an attempt that was run has failed in its work, even if its
 * function used another code, and its detail cannot be that of an attack.
 */
function failureOf(body: FailFields): Pick<FailChange, "code" | "detail"> {
  const { code, detail: exact } = classify(body.code ?? "EXECUTION_ERROR");
  const detail = exact ?? body.detail ?? null;
  if (code !== "SECURITY_VIOLATION")
    return { code, detail: detail !== null && isSecurityDetail(detail) ? null : detail };
  return isClaimDetail(detail) && wasRun(body) ? { code: "EXECUTION_ERROR", detail: null } : { code, detail };
}

/** Whether the attempt was run: its report then has a receipt, or at least its isolation. */
function wasRun({ receipt, receipt_parts, isolation, started_at, exit_code }: FailFields): boolean {
  return [receipt, receipt_parts, isolation, started_at, exit_code].some((field) => field !== undefined);
}

type ReportFields = Pick<
  z.infer<typeof resultItem>,
  "started_at" | "exit_code" | "isolation" | "usage" | "output_files"
>;

function reportOf(body: ReportFields): AttemptReport & Pick<ResultChange, "startedAt"> {
  return {
    ...(body.started_at === undefined ? {} : { startedAt: body.started_at }),
    exitCode: body.exit_code ?? null,
    isolation: textOf(body.isolation),
    usage: textOf(body.usage),
    outputFiles: outputFilesOf(body.output_files),
    // Set later, when the rest of the report was read.
    receipt: null,
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

/** Of the result, or of the partial result; null if there is neither. */
export function resultHashOf(change: ResultChange | FailChange): string | null {
  if (change.act === "result") return change.resultHash;
  return change.partialResult === null ? null : sha256Hex(change.partialResult);
}
