import type { JobDocument } from "../../contract/document.ts";
import { type DocumentSummary, summarizeDocument } from "../../contract/document-summary.ts";
import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import type { Identity } from "../../core/identity.ts";
import { isEnded } from "../../core/jobs/job.ts";
import type { ReadableOutputs } from "../../output/outputs.ts";
import type { CutField, ListedJob } from "../../store/jobs/job-list.ts";
import { jobFields, noFacts } from "./job-view.ts";
import { StoredParts } from "./stored-parts.ts";

/**
 * A job in a list, as this caller may see it: fields that are too large for a list are null and named in `cut`.
 * Why: ADR 0031.
 */
export async function jobSummary(
  outputs: ReadableOutputs,
  listed: ListedJob,
  identity: Identity,
): Promise<JobSummary> {
  const { id: jobId, attempt } = listed.job;
  const output = notedOutput(listed) ?? (await outputs.sizes({ jobId, attempt }));
  return summaryWith(output, listed, identity);
}

/** The same from the database alone; null if its output may still grow, so that the sizes have to be read. */
export function storedSummary(listed: ListedJob, identity: Identity): JobSummary | null {
  const output = notedOutput(listed);
  return output === null ? null : summaryWith(output, listed, identity);
}

function summaryWith(output: JobSummary["output"], listed: ListedJob, identity: Identity): JobSummary {
  const { job } = listed;
  const parts = new StoredParts(listed.damaged);
  const { cut, command, ...facts } = summaryOf(listed, parts);
  const fields = jobFields(job, { facts, parts }, identity);
  const isCut = (field: CutField): boolean => listed.cut.includes(field);
  return {
    ...fields,
    fail_history: isCut("failHistory") ? null : fields.fail_history,
    output_files: isCut("outputFiles") ? null : fields.output_files,
    output,
    command,
    last_failure: job.failHistory.at(-1) ?? null,
    cut: [...cut, ...listed.cut.map((field) => wireNames[field])],
    ...parts.namesOfDamaged(),
  };
}

const wireNames = {
  result: "result",
  partialResult: "partial_result",
  failHistory: "fail_history",
  outputFiles: "output_files",
  isolation: "isolation",
} as const satisfies Record<CutField, string>;

function summaryOf({ summary, document }: ListedJob, parts: StoredParts) {
  const read = parts.read("document", summary ?? document ?? "", (text) => {
    if (summary !== null) return JSON.parse(text) as DocumentSummary;
    return summarizeDocument(JSON.parse(text) as JobDocument);
  });
  return read ?? { ...noFacts, command: null, cut: [] };
}

/**
 * The store has the size of a job's output before the job ends, so that a long list need not read as many files. Only
 * sizes that a killed hub had not stored yet appear a few minutes later, when the survey has found them.
 */
function notedOutput({ job, output }: ListedJob): JobSummary["output"] | null {
  const { attempt } = job;
  if (attempt === 0) return { stdout: 0, stderr: 0 };
  const isRemoved = attempt <= output.throughAttempt;
  if (!isRemoved && !isEnded(job.status)) return null;
  const noted = output.sizes[attempt] ?? { stdout: 0, stderr: 0 };
  return isRemoved && noted.stdout + noted.stderr > 0 ? { ...noted, removed: true } : noted;
}
