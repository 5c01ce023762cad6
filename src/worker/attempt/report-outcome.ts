import { outputSizes, type SmallOutputText } from "../../contract/shapes/report-shapes.ts";
import type { SmallOutput } from "../../core/jobs/small-output.ts";
import { outputLimitReason, type RunOutcome } from "../../runners/runner.ts";
import { sha256Hex } from "../../signing/mac.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import { type ReleaseDeps, releaseLease } from "../claims/release-lease.ts";
import type { AttemptOutput } from "./attempt-output.ts";
import { partsOf, receiptOf } from "./receipt.ts";
import { reportItem, type Told } from "./report-item.ts";
import type { Reported, ResultReporter } from "./report-results.ts";

type OutcomeDeps = ReleaseDeps & {
  reporter: Pick<ResultReporter, "report" | "mayPartReceipts">;
  /** No process can be caged here at present. */
  onSandboxDown(reason: string): void;
};

type EndFacts = {
  startedAtMs: number | null;
  /** The hub does not know yet that a process has started. */
  isUnannounced?: boolean;
  endedAtMs: number;
  output: Pick<AttemptOutput, "sizes" | "isRefused" | "shipAgain" | "hashOf" | "small" | "shipSmall">;
};

type Ended = Exclude<RunOutcome, { kind: "released" }>;

/** A hub that loses what it was just sent a third time has no working disk; the outcome must not wait for that. */
const shipAgainMax = 3;

/**
 * Reports to the hub how an attempt has ended, with a receipt. Resolves when the hub has answered, or when the outcome
 * no longer matters, with what became of it. Why: ADR 0057, ADR 0078.
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
 * The report contains how much output the hub has accepted, so that a hub that has lost some of it says so before it
 * accepts the end. It then gets the rest from our copy, and the end again. Little output is in the report itself; if the
 * hub does not take it there, it is sent first, like that of a long job. A hub that is older than this worker accepts
 * only the fields that it knows, and gets the end without the others.
 */
async function reportEnd(
  deps: OutcomeDeps,
  held: HeldJob,
  outcome: Ended,
  facts: EndFacts,
): Promise<Reported> {
  const { output } = facts;
  const leftOut = new Set<string>();
  // Each turn leaves out one more field, or sends the output once more.
  for (let shipped = 0; ; ) {
    const end = output.isRefused ? outputLimited(outcome) : outcome;
    const told = without(toldOf(facts, end), leftOut);
    const reported = await sendEnd(deps, held, end, { ...facts, told });
    if (reported.kind !== "refused") return reported;
    const refused = refusedFields(reported);
    if (refused.includes(receiptParts) && deps.reporter.mayPartReceipts) {
      deps.reporter.mayPartReceipts = false;
      continue;
    }
    const unknown = refused.filter((name) => name in told);
    for (const name of unknown) leftOut.add(name);
    const isRefusedWhole = unknown.includes("small_output") || reported.code === "TOO_LARGE";
    if (isRefusedWhole && "small_output" in told) {
      await output.shipSmall();
      continue;
    }
    if (unknown.length > 0) continue;
    if (reported.code !== "OUTPUT_INCOMPLETE" || !("output" in told)) return reported;
    await output.shipAgain(outputSizes.safeParse(reported.details?.["output"]).data);
    if (++shipped === shipAgainMax) leftOut.add("output");
  }
}

/** However soon the process ended, output that was cut means the same. One that has failed by itself keeps its reason. */
function outputLimited(outcome: Ended): Ended {
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

const receiptParts = "receipt_parts";

function without(told: Told, leftOut: ReadonlySet<string>): Told {
  if (leftOut.size === 0) return told;
  return Object.fromEntries(Object.entries(told).filter(([name]) => !leftOut.has(name)));
}

/** What may be left out of a report. */
function toldOf({ output, startedAtMs, isUnannounced }: EndFacts, outcome: Ended): Told {
  return {
    ...(outcome.kind === "failed" && outcome.isFinal ? { final: true } : {}),
    ...(output.sizes === undefined ? {} : { output: output.sizes }),
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
  outcome: Ended,
  { startedAtMs, endedAtMs, output, told }: EndFacts & { told: Told },
): Promise<Reported> {
  const facts = {
    startedAtMs,
    endedAtMs,
    stdoutSha256: await output.hashOf("stdout"),
    stderrSha256: await output.hashOf("stderr"),
  };
  const receipt = receiptOf(claim, outcome, facts);
  const sha256 = sha256Hex(receipt);
  const signed = reporter.mayPartReceipts ? { receipt_parts: partsOf(claim, facts, sha256) } : { receipt };
  return reporter.report(reportItem(lease, outcome, { ...signed, ...told }), gone.signal, sha256);
}

/** The fields that the hub does not know, or does not accept as they are. */
function refusedFields({ code, details }: Extract<Reported, { kind: "refused" }>): string[] {
  const issues = details?.["issues"];
  if (code !== "INVALID_ARGUMENT" || !Array.isArray(issues)) return [];
  return issues.map((issue) => String(issue?.path).split(".")[0]!);
}
