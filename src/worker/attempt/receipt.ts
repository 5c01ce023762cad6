import type { ReceiptParts } from "../../contract/shapes/report-shapes.ts";
import { WritError } from "../../core/errors.ts";
import type { JsonValue } from "../../core/text/json-value.ts";
import type { RunOutcome } from "../../runners/runner.ts";
import { canonicalize, readPlainly } from "../../signing/canonical.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { parseJson } from "../../signing/parse-json.ts";
import { emptySha256 } from "../../signing/receipt.ts";
import { receiptText } from "../../signing/receipt-text.ts";
import type { VerifiedClaim } from "../../signing/verify-claim.ts";

type EndedOutcome = Exclude<RunOutcome, { kind: "released" }>;

type AttemptFacts = {
  startedAtMs: number | null;
  endedAtMs: number;
  stdoutSha256: string;
  stderrSha256: string;
};

/** The receipt of an attempt, as the text that the worker signs. Why: ADR 0013, ADR 0075. */
export function receiptOf(
  { lease, documentSha256 }: VerifiedClaim,
  outcome: EndedOutcome,
  facts: AttemptFacts,
): string {
  const resultJson = outcome.kind === "succeeded" ? outcome.resultJson : outcome.partialResultJson;
  return receiptText({
    job_id: lease.job_id,
    attempt: lease.attempt,
    worker_id: lease.worker_id,
    document_sha256: documentSha256,
    exit_code: outcome.exitCode ?? null,
    result_sha256: resultJson === undefined ? null : resultHash(resultJson),
    stdout_sha256: facts.stdoutSha256,
    stderr_sha256: facts.stderrSha256,
    output_files: [...(outcome.outputFiles ?? [])],
    isolation: plain(outcome.isolation),
    usage: plain(outcome.usage),
    started_at: facts.startedAtMs,
    ended_at: facts.endedAtMs,
  });
}

/** The parts that the hub cannot know from the rest of the report; it writes the same text from both. */
export function partsOf(
  { documentSha256 }: VerifiedClaim,
  { startedAtMs, endedAtMs, stdoutSha256, stderrSha256 }: AttemptFacts,
  sha256: string,
): ReceiptParts {
  return {
    sha256,
    document_sha256: documentSha256,
    ...(stdoutSha256 === emptySha256 ? {} : { stdout_sha256: stdoutSha256 }),
    ...(stderrSha256 === emptySha256 ? {} : { stderr_sha256: stderrSha256 }),
    ...(startedAtMs === null ? {} : { started_at: startedAtMs }),
    ended_at: endedAtMs,
  };
}

/** The result of a function that returns nothing. */
const nullSha256 = sha256Hex("null");

/** A result that cannot be parsed has no canonical form; the hub will refuse it, and its hash with it. */
function resultHash(json: string): string {
  return canonicalResult(json)?.sha256 ?? sha256Hex(json);
}

/** The canonical form of a result; null if it cannot be parsed. */
export function canonicalResult(json: string): { text: string; sha256: string } | null {
  if (json === "null") return { text: json, sha256: nullSha256 };
  try {
    const text = readPlainly(json) === null ? canonicalize(parseJson(json)) : json;
    return { text, sha256: sha256Hex(text) };
  } catch (error) {
    if (error instanceof WritError) return null;
    throw error;
  }
}

/** Without the undefined fields, as it is reported to the hub. */
function plain(value: object | undefined): JsonValue {
  if (value === undefined) return null;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}
