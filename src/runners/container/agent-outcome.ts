import { type AgentReport, agentReport } from "../../contract/shapes/agent-shapes.ts";
import { classify, type FailureClass, type FailureDetail, failureCodes } from "../../core/jobs/failure.ts";
import { cutText } from "../../core/text/cut-text.ts";
import { type JsonValue, toPlain } from "../../core/text/json-value.ts";
import type { Isolation } from "../../sandbox/sandbox.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { parseJson } from "../../signing/parse-json.ts";
import { resultProblem } from "../read-result.ts";
import type { RunOutcome } from "../runner.ts";

export const containerIsolation: Isolation = { level: "container", applied: [], missing: [] };

const reasonCharsMax = 2000;
/** The exit code by which the agent reports its own failure. */
const agentFailedCode = 125;

type ReadReport = { report: AgentReport; resultJson: string | undefined };

/** The line that the agent printed, or null if it is not a report about this job. */
export function readReport(line: string, jobId: string): ReadReport | null {
  try {
    const value = parseJson(line);
    const report = agentReport.parse(toPlain(value));
    // An agent without a payload cannot name the job.
    const isNameless = report.job_id === "" && report.exit_code === agentFailedCode;
    if (report.job_id !== jobId && !isNameless) return null;
    const result = (value as { result?: JsonValue }).result;
    return { report, resultJson: result === undefined ? undefined : canonicalize(result) };
  } catch {
    // Not JSON, or not a report: the program in the container has failed in another way.
    return null;
  }
}

/** What the report of an agent means for the job. */
export function reportOutcome({ report, resultJson = "null" }: ReadReport, container: string): RunOutcome {
  const { exit_code: exitCode, error, output_files: outputFiles } = report;
  const facts = {
    exitCode,
    isolation: containerIsolation,
    ...(outputFiles === undefined ? {} : { outputFiles }),
  };
  const problem = resultProblem(resultJson);
  if (report.success) {
    if (problem === null) return { kind: "succeeded", resultJson, ...facts };
    return { kind: "failed", code: "EXECUTION_ERROR", reason: problem, ...facts };
  }
  const partial = report.result === undefined || problem !== null ? {} : { partialResultJson: resultJson };
  const { code, detail } = classify(knownCode(error?.code) ?? "EXECUTION_ERROR");
  const by = exitCode === agentFailedCode ? `the agent in container ${container} failed: ` : "";
  const reason = cutText(`${by}${error?.message ?? "the agent gave no reason"}`, reasonCharsMax);
  const known = detail === null ? {} : { detail: detail as FailureDetail };
  return { kind: "failed", code, ...known, reason, ...partial, ...facts };
}

/**
 * The classes that an agent may report. Events inside a container are no attack on a claim and lose no worker. Only the
 * hub cancels; a job that was stopped inside the container has failed.
 */
const agentClasses: readonly FailureClass[] = ["INVALID_JOB", "TIMEOUT", "EXECUTION_ERROR"];

function knownCode(code: string | undefined): FailureClass | FailureDetail | undefined {
  return failureCodes.find((known) => known === code && agentClasses.includes(classify(known).code));
}
