import type { z } from "zod";
import type { FailRequest, ResultRequest, resultItem } from "../../../contract/shapes/report-shapes.ts";
import { invalidArgument } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import type { AttemptReport, Change } from "../../../core/jobs/change.ts";
import { classify } from "../../../core/jobs/failure.ts";
import type { JsonValue } from "../../../core/text/json-value.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import { fenceOf } from "./attempt-fence.ts";

export type ResultChange = Extract<Change, { act: "result" }>;
export type FailChange = Extract<Change, { act: "fail" }>;

type Fields = { worker_id: string; attempt?: number; token?: string };
type ResultFields = Omit<ResultRequest, keyof Fields | "receipt"> & Fields;
type FailFields = Omit<FailRequest, "receipt">;

/** A reported result as a change of its job. */
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

/** What a function that returns nothing has as its result. */
const nullSha256 = sha256Hex("null");

/** The hash that others can rely on is the hub's own; a worker that sends one must agree. */
function checkedHash(result: string, given: string | undefined): string {
  const hash = result === "null" ? nullSha256 : sha256Hex(result);
  if (given !== undefined && given.replace(/^sha256:/, "") !== hash) {
    const message = `"${given}" is not the SHA-256 of the canonical form of result, which is ${hash}`;
    throw invalidArgument({ path: "result_hash", message });
  }
  return hash;
}

/** A reported failure as a change of its job. */
export function failChange(identity: Identity, body: FailFields): FailChange {
  const { code, detail } = classify(body.code ?? "EXECUTION_ERROR");
  return {
    act: "fail",
    fence: fenceOf(identity, body),
    code,
    detail: detail ?? body.detail ?? null,
    reason: body.reason,
    ...(body.final ? { isFinal: true } : {}),
    partialResult: body.partial_result === undefined ? null : canonicalize(body.partial_result as JsonValue),
    ...reportOf(body),
  };
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
    // Set when everything that came with it was read.
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
