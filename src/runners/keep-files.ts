import type { FileHandle } from "node:fs/promises";
import type { OutputFile } from "../core/jobs/output-file.ts";
import { cutText } from "../core/text/cut-text.ts";
import { openBase, openBeneath } from "../runtime/files/open-beneath.ts";
import { PathRefused } from "../runtime/files/path-refused.ts";
import { type FileProblem, findOutputFiles } from "../transfer/find-output-files.ts";
import type { TransferDeps } from "../transfer/transfer-deps.ts";
import { uploadOutputs } from "../transfer/upload-outputs.ts";
import type { RunOutcome } from "./runner.ts";

type EndedOutcome = Exclude<RunOutcome, { kind: "released" }>;
type KeptFiles = { stored: OutputFile[]; problems: FileProblem[]; failures: string[] };

type FilesToKeep = Pick<Parameters<typeof uploadOutputs>[1], "location" | "askUrl" | "signal"> & {
  /** The job's own directory, and the name of the output directory in it. */
  workDir: string;
  outputName: string;
  collect?: readonly string[] | undefined;
};

/** Stores the files that a job wants to keep. */
export async function keepFiles(transfer: TransferDeps, wanted: FilesToKeep): Promise<KeptFiles> {
  const { location, askUrl, signal } = wanted;
  return withOutputDir(wanted, async (base) => {
    const { files, problems } = await findOutputFiles(base, wanted.collect);
    const uploaded = await uploadOutputs(transfer, { base, files, location, askUrl, signal });
    return { ...uploaded, problems: [...problems, ...uploaded.problems] };
  });
}

/** The job may have removed its output directory, or replaced it. */
async function withOutputDir(
  { workDir, outputName }: FilesToKeep,
  act: (base: FileHandle) => Promise<KeptFiles>,
): Promise<KeptFiles> {
  const work = await openBase(workDir);
  try {
    const base = await openBeneath(work, outputName, "directory");
    try {
      return await act(base);
    } finally {
      await base.close();
    }
  } catch (error) {
    if (!(error instanceof PathRefused)) throw error;
    const { message, leadsOut, refusal } = error;
    return { stored: [], failures: [], problems: refusal === "missing" ? [] : [{ message, leadsOut }] };
  } finally {
    await work.close();
  }
}

/** The outcome with the files that were kept. A file that could not be kept fails the attempt. */
export function withFiles(outcome: EndedOutcome, { stored, problems, failures }: KeptFiles): RunOutcome {
  const files = stored.length === 0 ? {} : { outputFiles: stored };
  const out = problems.filter(({ leadsOut }) => leadsOut);
  if (out.length > 0) {
    const reason = `the job wanted files to be kept that it may not reach: ${listOf(out.map(messageOf))}`;
    const failure = { code: "SECURITY_VIOLATION", detail: "PATH_TRAVERSAL_ATTEMPT" } as const;
    return { ...failedOutcome(outcome, reason), ...failure, ...files };
  }
  if (problems.length + failures.length === 0) return { ...outcome, ...files };

  const reason = `files of the job could not be kept: ${listOf([...problems.map(messageOf), ...failures])}`;
  if (outcome.kind === "failed") return { ...outcome, reason: `${outcome.reason}; ${reason}`, ...files };
  const detail = problems.length > 0 ? ("MANIFEST_INVALID" as const) : ("UPLOAD_FAILED" as const);
  return { ...failedOutcome(outcome, reason), code: "EXECUTION_ERROR", detail, ...files };
}

/** The outcome of an attempt whose result must not be relied on. */
export function failedOutcome(outcome: EndedOutcome, reason: string) {
  const { exitCode, usage, isolation } = outcome;
  const partial = outcome.kind === "succeeded" ? outcome.resultJson : outcome.partialResultJson;
  return {
    kind: "failed" as const,
    reason,
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(usage === undefined ? {} : { usage }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(partial === undefined ? {} : { partialResultJson: partial }),
  };
}

const namedMax = 3;
const reasonCharsMax = 1500;

function listOf(messages: readonly string[]): string {
  const named = messages.slice(0, namedMax).join("; ");
  const more = messages.length > namedMax ? `; and ${messages.length - namedMax} more` : "";
  return `${cutText(named, reasonCharsMax)}${more}`;
}

function messageOf({ message }: FileProblem): string {
  return message;
}
