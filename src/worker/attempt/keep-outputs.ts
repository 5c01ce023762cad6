import type { JobDocument } from "../../contract/document.ts";
import { changesName } from "../../runners/delegate/changes/keep-changes.ts";
import { failedOutcome, keepFiles, withFiles } from "../../runners/keep-files.ts";
import { outputName } from "../../runners/run-process.ts";
import { type RunOutcome, stoppedOutcome, stopReasonOf } from "../../runners/runner.ts";
import { jobWorkDir } from "./attempt-dir.ts";
import { type FileAttempt, type FileDeps, fileUrl } from "./file-urls.ts";

type Ended = Exclude<RunOutcome, { kind: "released" }>;

/**
 * Puts the files that an attempt wants to be kept into storage, whether it succeeded or not, and adds them to its outcome.
 * A file that cannot be kept fails the attempt: nobody should find out later that a completed job has lost its files. The
 * result is kept then too. An attempt that was stopped from outside keeps nothing more than what has arrived.
 * Why: ADR 0042.
 */
export async function keepOutputs(
  deps: FileDeps,
  attempt: FileAttempt,
  { document, outcome, dir }: { document: JobDocument; outcome: RunOutcome; dir: string },
): Promise<RunOutcome> {
  const { output_location: location, run } = document;
  const { signal } = attempt;
  // In a container the agent has put them there, and its outcome names them.
  const isInContainer = "container" in run && run.container !== undefined;
  if (location === undefined || isInContainer || outcome.kind === "released") return outcome;
  if (signal.aborted) return outcome.kind === "failed" ? outcome : stopped(attempt, outcome, []);

  const kept = await keepFiles(deps.transfer, {
    ...placeOf(document, dir),
    location,
    askUrl: (file) => fileUrl(deps, attempt, { ...file, method: "PUT" }),
    signal,
  });
  return signal.aborted ? stopped(attempt, outcome, kept.stored) : withFiles(outcome, kept);
}

/** It has ended by itself, but not all of its files have arrived: it is given back, or has failed for the reason of the stop. */
function stopped(
  { held, signal }: FileAttempt,
  outcome: Ended,
  stored: NonNullable<Ended["outputFiles"]>,
): RunOutcome {
  const end = stoppedOutcome(stopReasonOf(signal), held);
  if (end.kind !== "failed") return end;
  return { ...failedOutcome(outcome, end.reason), code: end.code, outputFiles: stored };
}

/** Of an agent's work only what the worker itself has checked is kept, and it lies where the agent could not put it. */
function placeOf({ run }: JobDocument, dir: string) {
  if (run.kind === "delegate") return { workDir: dir, outputName: changesName, collect: ["**"] };
  return { workDir: jobWorkDir(dir), outputName, collect: run.collect };
}
