import type { JobDocument } from "../../contract/document.ts";
import { changesName } from "../../runners/delegate/changes/keep-changes.ts";
import { failedOutcome, keepFiles, withFiles } from "../../runners/keep-files.ts";
import { outputName } from "../../runners/run-process.ts";
import { type RunOutcome, stoppedOutcome, stopReasonOf } from "../../runners/runner.ts";
import { type FileAttempt, type FileDeps, fileUrl } from "./file-urls.ts";

/** Of the attempt, and the job's own. */
type Dirs = { dir: string; jobDir: string };
type EndedOutcome = Exclude<RunOutcome, { kind: "released" }>;

/**
 * Stores the files that an attempt should keep, whether it succeeded or not, and adds them to its outcome. A file that
 * cannot be stored fails the attempt, because a completed job must have its files; its result is kept. An attempt that
 * was stopped from outside keeps only the files that have arrived. Why: ADR 0042.
 */
export async function keepOutputs(
  deps: FileDeps,
  attempt: FileAttempt,
  { document, outcome, ...dirs }: { document: JobDocument; outcome: RunOutcome } & Dirs,
): Promise<RunOutcome> {
  const { output_location: location, run } = document;
  const { signal } = attempt;
  // In a container the agent has put them there, and its outcome names them.
  const isInContainer = "container" in run && run.container !== undefined;
  if (location === undefined || isInContainer || outcome.kind === "released") return outcome;
  if (signal.aborted) return outcome.kind === "failed" ? outcome : stopped(attempt, outcome, []);

  const kept = await keepFiles(deps.transfer, {
    ...placeOf(document, dirs),
    location,
    askUrl: (file) => fileUrl(deps, attempt, { ...file, method: "PUT" }),
    signal,
  });
  return signal.aborted ? stopped(attempt, outcome, kept.stored) : withFiles(outcome, kept);
}

/**
 * The outcome of an attempt that ended by itself without all of its files stored: released, or failed for the reason of
 * the stop.
 */
function stopped(
  { held, signal }: FileAttempt,
  outcome: EndedOutcome,
  stored: NonNullable<EndedOutcome["outputFiles"]>,
): RunOutcome {
  const end = stoppedOutcome(stopReasonOf(signal), held);
  if (end.kind !== "failed") return end;
  return { ...failedOutcome(outcome, end.reason), code: end.code, outputFiles: stored };
}

/**
 * Of an agent's work only files that the worker has checked are kept, from a directory that the agent could not write
 * to.
 */
function placeOf({ run }: JobDocument, { dir, jobDir }: Dirs) {
  if (run.kind === "delegate") return { workDir: dir, outputName: changesName, collect: ["**"] };
  return { workDir: jobDir, outputName, collect: run.collect };
}
