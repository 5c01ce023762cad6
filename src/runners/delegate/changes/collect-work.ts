import { failedOutcome } from "../../keep-files.ts";
import { resultProblem } from "../../read-result.ts";
import {
  type RunContext,
  RunFailure,
  type RunnerDeps,
  type RunOutcome,
  stoppedOutcome,
  stopReasonOf,
} from "../../runner.ts";
import { lookAgain } from "../repository/find-own-files.ts";
import { readTree, type Tree } from "../repository/read-tree.ts";
import { isLive, type Workspace } from "../repository/workspace.ts";
import type { Delegation } from "../run-agent.ts";
import { type Changes, findChanges, listOf, shown } from "./find-changes.ts";
import { keepChanges } from "./keep-changes.ts";
import { putBack } from "./put-back.ts";
import { checkExpected, validateWork } from "./validate-work.ts";

type EndedOutcome = Exclude<RunOutcome, { kind: "released" }>;
type Work = { delegation: Delegation; workspace: Workspace; outcome: EndedOutcome };

/** Collects an agent's work: compares and checks the changes, and keeps them or puts them back. Why: ADR 0048. */
export async function collectWork(deps: RunnerDeps, context: RunContext, work: Work): Promise<RunOutcome> {
  const { delegation, workspace, outcome } = work;
  const { look, moved } = isLive(workspace)
    ? await lookAgain(workspace)
    : { look: workspace.look, moved: [] };
  const after = await readTree(workspace.dir, look);
  const changes = findChanges(workspace.before, after, workspace.allowed);
  changes.offences.push(...moved.map((path) => `${shown(path)} belongs to a hub or a worker`));
  if (changes.offences.length > 0) return violation(workspace, outcome, changes);
  // A stopped job keeps nothing, and a job must not complete without its changes.
  if (context.signal.aborted)
    return outcome.kind === "failed" ? outcome : stoppedOutcome(stopReasonOf(context.signal), context);

  const { settings, chosen, expectedArtifacts } = delegation;
  const resultJson = resultOf(work, changes, after);
  try {
    await keepChanges(workspace, changes.changed, { attemptDir: context.attemptDir, limits: settings });
    if (outcome.kind === "failed") return { ...outcome, partialResultJson: resultJson };
    await checkExpected(workspace, expectedArtifacts);
    const { validate: argv, egress } = chosen.entry;
    if (argv !== undefined)
      await validateWork(deps, context, { argv, workspace, expected: expectedArtifacts, egress });
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error;
    return failedBy(error, outcome, resultJson);
  }
  if (context.signal.aborted) return stoppedOutcome(stopReasonOf(context.signal), context);
  return { ...outcome, resultJson };
}

function failedBy(error: RunFailure, outcome: EndedOutcome, partialResultJson: string): RunOutcome {
  const { code, detail, message } = error;
  if (outcome.kind === "failed")
    return { ...outcome, reason: `${outcome.reason}; ${message}`, partialResultJson };
  const failure = { code, ...(detail === undefined ? {} : { detail }) };
  return { ...failedOutcome(outcome, message), ...failure, partialResultJson };
}

const reasonCharsMax = 1500;

/**
 * The outcome of an agent that broke its rules: its work is not offered, and its changes to a repository are undone as
 * far as there are copies.
 */
async function violation(workspace: Workspace, outcome: EndedOutcome, changes: Changes): Promise<RunOutcome> {
  const left = isLive(workspace) ? await putBack(workspace, changes) : [];
  const { partialResultJson: _, ...failed } = failedOutcome(outcome, "");
  const kept = left.length === 0 ? "" : `; these files are still changed: ${listOf(left)}`;
  const reason = `the agent left what it may not: ${listOf(changes.offences)}${kept}`;
  return {
    ...failed,
    code: "SECURITY_VIOLATION",
    detail: "PATH_TRAVERSAL_ATTEMPT",
    reason: reason.slice(0, reasonCharsMax).toWellFormed(),
  };
}

/** The result of the job: the changes, and the agent's own answer, if there is one. */
function resultOf({ workspace, outcome }: Work, { changed }: Changes, after: Tree): string {
  const leftOut = [...after.leftOut].map(([path, why]) => ({ path, why }));
  const result = JSON.stringify({
    mode: workspace.kind === "in-place" ? "in-place" : "patch",
    workspace: workspace.kind,
    changed: changed.map(({ path, change, after: now }) => ({
      path,
      change,
      ...(now === undefined ? {} : { sha256: now.sha256 }),
    })),
    ...(leftOut.length === 0 ? {} : { left_out: leftOut.slice(0, leftOutMax) }),
  });
  const answer = outcome.kind === "succeeded" ? outcome.resultJson : (outcome.partialResultJson ?? "null");
  const withAnswer = `${result.slice(0, -1)},"answer":${answer}}`;
  return answer === "null" || resultProblem(withAnswer) !== null ? result : withAnswer;
}

const leftOutMax = 100;
