import { outputSizes, type SmallOutputText } from "../../contract/shapes/report-shapes.ts";
import type { SmallOutput } from "../../core/jobs/small-output.ts";
import { outputLimitReason, type RunOutcome } from "../../runners/runner.ts";
import { sha256Hex } from "../../signing/mac.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import { type ReleaseDeps, releaseLease } from "../claims/release-lease.ts";
import type { HubCalls } from "../hub/hub-calls.ts";
import type { AttemptOutput } from "./attempt-output.ts";
import { functionRow } from "./function-row.ts";
import { partsOf, receiptOf } from "./receipt.ts";
import { type ReportFacts, reportItem } from "./report-item.ts";
import type { Reported, ResultReporter } from "./report-results.ts";

type OutcomeDeps = ReleaseDeps & {
  calls: Pick<HubCalls, "accepts">;
  reporter: Pick<ResultReporter, "report">;
  /** Called when no process can be caged on this host at present. */
  onSandboxDown(reason: string): void;
};

type EndFacts = {
  startedAtMs: number | null;
  /** Whether the hub does not know yet that a process has started. */
  isUnannounced?: boolean;
  endedAtMs: number;
  output: Pick<
    AttemptOutput,
    "sizes" | "isRefused" | "shipAgain" | "hashOf" | "small" | "shipSmall" | "hasFiles"
  >;
};

type EndedOutcome = Exclude<RunOutcome, { kind: "released" }>;

/** A hub that loses the same output a third time has no working disk; the outcome must not wait for it. */
const shipAgainMax = 3;

/**
 * Reports to the hub how an attempt has ended, with a receipt. Resolves with the hub's answer, or when the outcome no
 * longer matters. Why: ADR 0057, ADR 0114.
 */
export async function reportOutcome(
  deps: OutcomeDeps,
  held: HeldJob,
  outcome: RunOutcome,
  facts: EndFacts,
): Promise<Reported["kind"] | "released"> {
  const { lease, gone } = held;
  if (gone.signal.aborted) return "lost";
  if (outcome.kind === "released") {
    if (outcome.isHostDown) deps.onSandboxDown(outcome.reason);
    await releaseLease(deps, lease, outcome.reason, gone.signal);
    return "released";
  }

  const row = functionRow(deps, held, outcome, facts);
  if (row !== null) {
    const { kind } = await deps.reporter.report(row, gone.signal);
    // A row says nothing about why it was refused; the item does.
    if (kind !== "refused") return kind;
  }
  const reported = await reportEnd(deps, held, outcome, facts);
  if (reported.kind !== "refused") return reported.kind;
  const { code, message } = reported;
  deps.logger.warn(
    { job_id: lease.job_id, attempt: lease.attempt, code, message },
    "the hub refused a report",
  );
  if (outcome.kind === "failed") return "refused";
  const reason = `the hub refused the result: ${code}: ${message}`;
  const detail = code === "FILES_INCOMPLETE" ? { detail: "UPLOAD_FAILED" as const } : {};
  await reportEnd(deps, held, { kind: "failed", code: "EXECUTION_ERROR", ...detail, reason }, facts);
  return "refused";
}

/**
 * The report contains how much output the hub has accepted, so that a hub that has lost some of it refuses the end. It
 * then receives the rest from the worker's copy, and the end again. A small output is in the report itself; if it
 * exceeds the hub's limit, it is sent first, like that of a long job. A hub that writes another receipt from its parts
 * receives the worker's text.
 */
async function reportEnd(
  deps: OutcomeDeps,
  held: HeldJob,
  outcome: EndedOutcome,
  facts: EndFacts,
): Promise<Reported> {
  const { output } = facts;
  const mayBeFinal = deps.calls.accepts("final");
  const mayAskDelay = deps.calls.accepts("retry_in_sec");
  let isReceiptWhole = false;
  // Each turn sends the receipt or the output in the other way, once, or sends lost output again.
  for (let shipped = 0; ; ) {
    const end = output.isRefused ? outputLimited(outcome) : outcome;
    const reportFacts = factsOf(facts, end, {
      isSized: shipped < shipAgainMax,
      mayBeFinal,
      mayAskDelay,
    });
    const reported = await sendEnd(deps, held, end, { ...facts, reportFacts, isReceiptWhole });
    if (reported.kind !== "refused") return reported;
    if (isAboutReceipt(reported) && !isReceiptWhole) {
      isReceiptWhole = true;
      continue;
    }
    if (reported.code === "TOO_LARGE" && "small_output" in reportFacts) {
      await output.shipSmall();
      continue;
    }
    if (reported.code !== "OUTPUT_INCOMPLETE" || !("output" in reportFacts)) return reported;
    await output.shipAgain(outputSizes.safeParse(reported.details?.["output"]).data);
    shipped++;
  }
}

/**
 * Cut output fails the attempt, even after the process has ended. An attempt that failed by itself keeps its reason.
 */
function outputLimited(outcome: EndedOutcome): EndedOutcome {
  if (outcome.kind === "failed") return outcome;
  const { usage, isolation, outputFiles, resultJson } = outcome;
  return {
    kind: "failed",
    code: "EXECUTION_ERROR",
    detail: "OUTPUT_LIMIT",
    reason: outputLimitReason,
    partialResultJson: resultJson,
    ...(usage === undefined ? {} : { usage }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(outputFiles === undefined ? {} : { outputFiles }),
  };
}

/** The facts of the report besides the outcome. A hub of version 0.1 does not accept that an end is final, or a delay. */
function factsOf(
  { output, startedAtMs, isUnannounced }: EndFacts,
  outcome: EndedOutcome,
  { isSized, mayBeFinal, mayAskDelay }: { isSized: boolean; mayBeFinal: boolean; mayAskDelay: boolean },
): ReportFacts {
  const isFinal = outcome.kind === "failed" && outcome.isFinal === true;
  const retryInSec = outcome.kind === "failed" ? outcome.retryInSec : undefined;
  return {
    ...(isFinal && mayBeFinal ? { final: true } : {}),
    ...(retryInSec !== undefined && mayAskDelay ? { retry_in_sec: retryInSec } : {}),
    ...(output.sizes === undefined || !isSized ? {} : { output: output.sizes }),
    ...(output.small === undefined ? {} : { small_output: inBase64(output.small) }),
    ...(isUnannounced && startedAtMs !== null ? { started_at: startedAtMs } : {}),
  };
}

function inBase64({ stdout, stderr }: SmallOutput): SmallOutputText {
  return {
    ...(stdout.length === 0 ? {} : { stdout: toBase64(stdout) }),
    ...(stderr.length === 0 ? {} : { stderr: toBase64(stderr) }),
  };
}

/** Uint8Array has a method for this, but not on an older Node. */
function toBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

async function sendEnd(
  { reporter }: OutcomeDeps,
  { lease, claim, gone }: HeldJob,
  outcome: EndedOutcome,
  end: EndFacts & { reportFacts: ReportFacts; isReceiptWhole: boolean },
): Promise<Reported> {
  const { startedAtMs, endedAtMs, output, reportFacts, isReceiptWhole } = end;
  const facts = {
    startedAtMs,
    endedAtMs,
    stdoutSha256: await output.hashOf("stdout"),
    stderrSha256: await output.hashOf("stderr"),
  };
  const receipt = receiptOf(claim, outcome, facts);
  const sha256 = sha256Hex(receipt);
  const signed = isReceiptWhole ? { receipt } : { receipt_parts: partsOf(claim, facts, sha256) };
  const text = reportItem(lease, outcome, { ...signed, ...reportFacts });
  return reporter.report({ text, receipt: { sha256, leaseSha256: claim.signedSha256 } }, gone.signal);
}

/** The text that the hub has written from the parts has another hash than ours. */
function isAboutReceipt({ code, details }: Extract<Reported, { kind: "refused" }>): boolean {
  const issues = details?.["issues"];
  if (code !== "INVALID_ARGUMENT" || !Array.isArray(issues)) return false;
  return issues.some((issue) => issue?.path === "receipt_parts.sha256");
}
