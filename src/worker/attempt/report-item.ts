import type { OutputSizes, ReceiptParts, SmallOutputText } from "../../contract/shapes/report-shapes.ts";
import type { RunOutcome } from "../../runners/runner.ts";
import type { Lease } from "../../signing/lease.ts";

const reasonCharsMax = 4000;

type EndedOutcome = Exclude<RunOutcome, { kind: "released" }>;

/**
 * Further facts of an attempt's report: how much output the hub has accepted, or the output itself, the start time, and
 * that another attempt cannot help or when it may.
 */
export type ReportFacts = {
  output?: OutputSizes;
  small_output?: SmallOutputText;
  started_at?: number;
  final?: true;
  retry_in_sec?: number;
};
type Reported = ReportFacts & { receipt?: string; receipt_parts?: ReceiptParts };

/** One outcome for the hub, as JSON text: results are included as they were written, to the byte. Why: ADR 0075. */
export function reportItem(lease: Lease, outcome: EndedOutcome, facts: Reported = {}): string {
  const { job_id, attempt, token } = lease;
  const { exitCode: exit_code, usage, isolation, outputFiles: output_files } = outcome;
  const common = { job_id, attempt, token, exit_code, usage, isolation, output_files, ...facts };
  if (outcome.kind === "succeeded") return withJson(common, "result", outcome.resultJson);
  const { code, detail = outcome.ownCode, partialResultJson } = outcome;
  const reason = outcome.reason.slice(0, reasonCharsMax).toWellFormed();
  return withJson({ ...common, code, detail, reason }, "partial_result", partialResultJson);
}

function withJson(fields: object, name: string, json: string | undefined): string {
  const text = JSON.stringify(fields);
  return json === undefined ? text : `${text.slice(0, -1)},"${name}":${json}}`;
}
