import type { JobDocument } from "../../contract/document.ts";
import { type DelegateMode, delegateModeDefault } from "../../core/jobs/document.ts";
import { notStarted } from "../../core/jobs/failure.ts";
import { SandboxUnavailable } from "../../sandbox/sandbox.ts";
import { effectiveLimits } from "../effective-limits.ts";
import { refuseClosedNetwork } from "../egress/refuse-closed-network.ts";
import {
  type RunContext,
  RunFailure,
  type Runner,
  type RunnerDeps,
  type RunOutcome,
  stoppedOutcome,
  stopReasonOf,
} from "../runner.ts";
import { readLimits } from "./agent-limits.ts";
import { isOutsideAgent } from "./agent-problems.ts";
import { collectWork } from "./changes/collect-work.ts";
import { moveWorkIn } from "./changes/move-in.ts";
import { keepUndo } from "./changes/undo-record.ts";
import { undoReleased } from "./changes/undo-released.ts";
import { runChat } from "./chat/run-chat.ts";
import { chooseAgent } from "./choose-agent.ts";
import type { DelegateSettings } from "./delegate-settings.ts";
import { ModelSlots } from "./model-slots.ts";
import { runOutsideAgent } from "./outside-agent.ts";
import { type CheckedPaths, checkPaths } from "./repository/check-paths.ts";
import { closedFilesNote, refuseClosed } from "./repository/closed-files.ts";
import { openCopy, openInPlace, openPrivate } from "./repository/open-workspace.ts";
import { Repositories } from "./repository/repositories.ts";
import { isLive, type Workspace } from "./repository/workspace.ts";
import { type Delegation, runAgent } from "./run-agent.ts";

const idleTimeoutSecDefault = 120;

/** Runs a coding agent in a repository for a job, and keeps its changes. Why: ADR 0048, ADR 0102. */
export function delegateRunner(deps: RunnerDeps, settings: DelegateSettings): Runner {
  const slots = new ModelSlots(deps.clock);
  const repositories = new Repositories(deps.clock);
  const known = { ...settings, level: deps.sandbox.level };
  return {
    kind: "delegate",
    // A model is asked by the worker itself; every other agent is a process.
    isInProcess: (document) => isBuiltIn(known, document),
    async run(context) {
      const wanted = delegationOf(known, context);
      const { entry } = wanted.chosen;
      if (entry.command === undefined) refuseClosedNetwork(context.document, `the agent ${entry.name}`);
      const { repo_root } = context.document;
      const paths = repo_root === undefined ? null : await checkPaths(settings, context.document);
      refuseMode(wanted, context);
      const limits = await readLimits(deps.clock, context, entry);
      if (limits !== null && "kind" in limits) return limits;
      const delegation = { ...wanted, limits };
      const free = await slots.take(delegation.chosen.capability, waitMs(context), context.signal);
      if (free === null)
        return notTaken(context, "the model is busy with as many jobs as max_concurrent allows");
      try {
        const { capability } = delegation.chosen;
        if (entry.builtin === "chat") return await runChat(deps, context, capability);
        return await delegate(deps, context, { delegation, paths, repositories });
      } finally {
        free();
      }
    },
  };
}

type KnownSettings = Parameters<typeof chooseAgent>[0];

function isBuiltIn(settings: KnownSettings, document: JobDocument): boolean {
  const { run } = document;
  try {
    return run.kind === "delegate" && chooseAgent(settings, document, run.agent).entry.builtin !== undefined;
  } catch (error) {
    // The run itself says what is wrong.
    if (error instanceof RunFailure) return false;
    throw error;
  }
}

type Work = {
  delegation: Delegation;
  paths: CheckedPaths | null;
  repositories: Repositories;
};

/** The story of one delegation: open a workspace, run the agent in it, keep what it changed. */
async function delegate(
  deps: RunnerDeps,
  context: RunContext,
  { delegation, paths, repositories }: Work,
): Promise<RunOutcome> {
  const { sandbox } = deps;
  const hasJail = sandbox.workDirInside(context.workDir) !== context.workDir;
  const isRoot = process.getuid?.() === 0;
  const place = { delegation, hasJail, isRoot };
  if (paths === null || modeOf(delegation, context) === "patch")
    return inCage(deps, context, { ...place, paths });
  // Without a cage, the whole repository is compared and may be put back.
  const isCaged = hasJail && !isOutsideAgent(delegation.chosen.entry);
  const taken = isCaged ? paths.allowed.map(({ path }) => path) : [""];
  const waiting = { waitMs: waitMs(context), signal: context.signal };
  const free = await repositories.take(paths.root, taken, waiting);
  if (free === null)
    return notTaken(context, "another job works in the same paths of this repository in place");
  try {
    // Another job may have created or removed some of the paths meanwhile.
    const found = { ...place, paths: await checkPaths(delegation.settings, context.document) };
    if (found.paths.root !== paths.root) throw movedRoot(paths, found.paths);
    if (isOutsideAgent(delegation.chosen.entry)) return await runOutsideAgent(deps, context, found);
    return await inCage(deps, context, found);
  } finally {
    free();
  }
}

type DelegationPlace = Pick<Work, "delegation" | "paths"> & { hasJail: boolean; isRoot: boolean };

/** For an agent that the worker starts itself: in a cage, if the host has one. */
async function inCage(deps: RunnerDeps, context: RunContext, place: DelegationPlace): Promise<RunOutcome> {
  const { delegation, paths, hasJail, isRoot } = place;
  // Without root an agent reads as the worker's user.
  const isOther = paths !== null && isRoot && hasJail;
  if (isOther) await refuseClosed(paths);
  const workspace = await openWorkspace(deps, context, place);
  const outcome = await carryOutInPlace(deps, context, { delegation, workspace });
  if (!isOther || outcome.kind !== "failed" || outcome.code !== "EXECUTION_ERROR") return outcome;
  return { ...outcome, reason: `${outcome.reason}${await closedFilesNote(paths)}` };
}

function movedRoot(before: CheckedPaths, now: CheckedPaths): RunFailure {
  const reason = `repo_root led to ${before.root} when the job came, and now leads to ${now.root}`;
  return new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

type Opened = { delegation: Delegation; workspace: Workspace };

/** Keeps the data for an undo on disk while an agent changes a repository in place. */
async function carryOutInPlace(deps: RunnerDeps, context: RunContext, opened: Opened): Promise<RunOutcome> {
  if (!isLive(opened.workspace)) return carryOut(deps, context, opened);
  const kept = await keepUndo(deps.clock, context.attemptDir, opened.workspace);
  try {
    return await carryOut(deps, context, opened);
  } finally {
    await kept.forget();
  }
}

async function carryOut(
  deps: RunnerDeps,
  context: RunContext,
  { delegation, workspace }: Opened,
): Promise<RunOutcome> {
  const { outcome, isStarted } = await runAgent(deps, context, { delegation, workspace });
  if (!isStarted) return outcome;
  if (outcome.kind === "released") return undoReleased(deps, workspace, outcome);
  const collected = await collectWork(deps, context, { delegation, workspace, outcome });
  if (collected.kind === "released") return undoReleased(deps, workspace, collected);
  return moveWorkIn(deps, context, { workspace, outcome: collected });
}

async function openWorkspace(
  deps: RunnerDeps,
  context: RunContext,
  { delegation, paths, hasJail, isRoot }: DelegationPlace,
): Promise<Workspace> {
  const { attemptDir, workDir } = context;
  if (paths === null)
    return openPrivate({ attemptDir, hasJail, workDir, inside: deps.sandbox.workDirInside(workDir) });
  const isMapped = isRoot && hasJail && (await canMap(deps, context, paths));
  const { maxFileBytes } = delegation.settings;
  const place = { attemptDir, hasJail, isCaged: hasJail, isMapped, isRoot, maxFileBytes };
  return modeOf(delegation, context) === "in-place" ? openInPlace(paths, place) : openCopy(paths, place);
}

/** If the kernel cannot map owners, an agent still reads files that every user may read. */
async function canMap(
  { sandbox, settings }: RunnerDeps,
  { document, lease }: RunContext,
  { root, owner }: CheckedPaths,
): Promise<boolean> {
  const mounts = [{ source: root, target: root, access: "read-only" as const, idmapped: owner }];
  try {
    await sandbox.probe({
      ...effectiveLimits(document.limits ?? {}, settings, lease.limits_defaulted),
      mounts,
    });
    return true;
  } catch (error) {
    if (error instanceof SandboxUnavailable && !error.isHostDown) return false;
    throw error;
  }
}

function delegationOf(settings: KnownSettings, { document }: RunContext): Omit<Delegation, "limits"> {
  const { run } = document;
  if (run.kind !== "delegate") throw new Error(`the delegate runner was given a job of kind ${run.kind}`);
  return {
    settings,
    chosen: chooseAgent(settings, document, run.agent),
    prompt: run.prompt,
    expectedArtifacts: run.expected_artifacts ?? [],
    idleTimeoutSec: run.idle_timeout_sec ?? idleTimeoutSecDefault,
    secrets: run.secrets ?? [],
    apply: run.apply,
  };
}

/** The mode of a job that names none follows from its agent. */
function modeOf({ chosen }: Pick<Delegation, "chosen">, { document: { run } }: RunContext): DelegateMode {
  const mode = run.kind === "delegate" ? run.mode : undefined;
  return mode ?? (isOutsideAgent(chosen.entry) ? "in-place" : delegateModeDefault);
}

/** A program outside the cage works in the repository that it watches, and nowhere else. */
function refuseMode(delegation: Pick<Delegation, "chosen">, context: RunContext): void {
  const { name } = delegation.chosen.entry;
  if (!isOutsideAgent(delegation.chosen.entry)) return;
  const isInPlace = modeOf(delegation, context) === "in-place";
  if (isInPlace && context.document.repo_root !== undefined) return;
  const found = isInPlace ? "the job has no repo_root" : "the job asks for mode patch";
  const reason = `the agent ${name} works in the repository itself, but ${found}; submit it with a repo_root and mode in-place or none`;
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

/** The hub counts the wait as part of the job's time, so half of it is left for the work. */
function waitMs({ lease }: RunContext): number {
  return (lease.timeout_sec * 1000) / 2;
}

function notTaken(context: RunContext, why: string): RunOutcome {
  if (context.signal.aborted) return stoppedOutcome(stopReasonOf(context.signal), context);
  return { kind: "released", reason: `${notStarted}: ${why}` };
}
