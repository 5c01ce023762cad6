import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, open, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { openBase, openEntry, pathOf } from "../../runtime/files/open-beneath.ts";
import { plainIsolation } from "../../sandbox/plain/plain-sandbox.ts";
import {
  type RunContext,
  RunFailure,
  type RunnerDeps,
  type RunOutcome,
  stoppedOutcome,
  stopReasonOf,
} from "../runner.ts";
import { collectWork } from "./changes/collect-work.ts";
import { changedIn } from "./changes/put-back.ts";
import { stillChanged } from "./changes/undo-released.ts";
import type { AgentEntry } from "./delegate-settings.ts";
import { type CheckedPaths, traversal } from "./repository/check-paths.ts";
import { openLive } from "./repository/open-workspace.ts";
import type { Delegation } from "./run-agent.ts";
import { taskText, taskTitle } from "./task-file.ts";
import { type AgentEnd, watchAgent } from "./watch-agent.ts";

const taskFileDefault = "TASK.md";
const markerDefault = ".roo_completed";

type OutsideWork = { delegation: Delegation; paths: CheckedPaths; hasJail: boolean; isRoot: boolean };

/**
 * Runs a job with an agent that is a program of its own, for example an editor with the repository open: it finds the
 * task file there, and creates the marker when it is done. Nothing confines it; its changes are checked afterwards.
 * Why: ADR 0048.
 */
export async function runOutsideAgent(
  deps: RunnerDeps,
  context: RunContext,
  work: OutsideWork,
): Promise<RunOutcome> {
  const { delegation, paths, hasJail, isRoot } = work;
  const names = namesOf(delegation.chosen.entry);
  const hidden = [...paths.hidden, names.task, names.marker];
  const place = { attemptDir: context.attemptDir, hasJail, isCaged: false, isMapped: isRoot, isRoot };
  const { maxFileBytes } = delegation.settings;
  const base = await openBase(paths.root);
  try {
    await refuseForeignTask(base, names.task);
    const workspace = await openLive({ ...paths, hidden }, { ...place, maxFileBytes });
    for (const name of ["stdout.log", "stderr.log"]) await writeFile(join(context.attemptDir, name), "");
    const isolation = plainIsolation();
    await context.onStarted(isolation);
    const end = await withTask(
      base,
      names,
      { text: taskOf(context, work, names), owner: isRoot ? paths.owner : undefined },
      () =>
        waitForAgent(deps, context, {
          marker: join(paths.root, names.marker),
          delegation,
          look: workspace.look,
          dir: paths.root,
        }),
    );
    const outcome = { ...outcomeOf(context, delegation, end), isolation };
    const collected =
      outcome.kind === "released"
        ? outcome
        : await collectWork(deps, context, { delegation, workspace, outcome });
    if (collected.kind !== "released") return collected;
    // This worker cannot stop the program, which may still write, so nothing is put back.
    return stillChanged(collected, await changedIn(workspace));
  } finally {
    await base.close();
  }
}

type Names = { task: string; marker: string };

function namesOf({ taskFile = taskFileDefault, completionMarker = markerDefault }: AgentEntry): Names {
  for (const name of [taskFile, completionMarker])
    if (name.includes("/"))
      throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", `${name} must be a name in the repository`);
  return { task: taskFile, marker: completionMarker };
}

/** Refuses a file of that name that Writ did not write, because it belongs to a person. */
async function refuseForeignTask(base: FileHandle, name: string): Promise<void> {
  const path = `${pathOf(base)}/${name}`;
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return null;
    if (hasCode(error, "ELOOP")) throw traversal(`the task file ${name} is a symbolic link`);
    throw error;
  });
  if (file === null) return;
  try {
    const begin = Buffer.alloc(taskTitle.length);
    const { bytesRead } = await file.read(begin, 0, begin.length, 0);
    if (begin.toString("utf8", 0, bytesRead) !== taskTitle)
      throw new RunFailure(
        "INVALID_JOB",
        "JOB_NOT_ACCEPTED",
        `${name} is already in the repository, and Writ did not write it`,
      );
  } finally {
    await file.close();
  }
  await unlink(path);
}

/** Runs an act with the task file in place, and removes both files in any case. */
async function withTask<T>(
  base: FileHandle,
  { task, marker }: Names,
  { text, owner }: { text: string; owner: { uid: number; gid: number } | undefined },
  act: () => Promise<T>,
): Promise<T> {
  await removeFile(base, marker);
  await writeWhole(base, task, { text, owner });
  try {
    return await act();
  } finally {
    for (const name of [task, marker]) await removeFile(base, name);
  }
}

/**
 * Writes the file whole, because the watching program must never read half of it. A file that appeared meanwhile is not
 * replaced.
 */
async function writeWhole(
  base: FileHandle,
  name: string,
  { text, owner }: { text: string; owner: { uid: number; gid: number } | undefined },
): Promise<void> {
  const at = (file: string): string => `${pathOf(base)}/${file}`;
  const temporary = `.${randomBytes(8).toString("hex")}.part`;
  const file = await open(at(temporary), "wx", 0o644);
  try {
    await file.writeFile(text);
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
    await link(at(temporary), at(name));
  } finally {
    await file.close();
    await unlink(at(temporary));
  }
}

async function removeFile(base: FileHandle, name: string): Promise<void> {
  // A file that does not exist, or became a link, is not removed.
  const entry = await openEntry(base, name).catch(() => null);
  if (entry === null) return;
  await entry.close();
  // The agent or a person has removed it meanwhile.
  await unlink(`${pathOf(base)}/${name}`).catch(() => {});
}

type Waiting = {
  marker: string;
  delegation: Delegation;
  dir: string;
  look: Parameters<typeof watchAgent>[1]["dirs"][number]["look"];
};

async function waitForAgent(
  deps: RunnerDeps,
  context: RunContext,
  waiting: Waiting,
): Promise<AgentEnd | "stopped"> {
  const { marker, delegation, dir, look } = waiting;
  const idleMs = delegation.idleTimeoutSec * 1000;
  const watching = watchAgent(deps.clock, { marker, graceMs: 0, idleMs, outputs: [], dirs: [{ dir, look }] });
  try {
    const over = AbortSignal.any([context.signal, watching.signal]);
    if (!over.aborted)
      await new Promise((resolve) => over.addEventListener("abort", resolve, { once: true }));
    return watching.signal.aborted ? (watching.signal.reason as AgentEnd) : "stopped";
  } finally {
    watching.close();
  }
}

function outcomeOf(
  context: RunContext,
  { idleTimeoutSec }: Delegation,
  end: AgentEnd | "stopped",
): RunOutcome {
  if (end === "finished") return { kind: "succeeded", resultJson: "null", exitCode: 0 };
  if (end === "stopped") return stoppedOutcome(stopReasonOf(context.signal), context);
  const reason = `the agent changed no file for ${idleTimeoutSec} s`;
  return { kind: "failed", code: "TIMEOUT", detail: "IDLE_TIMEOUT", reason };
}

function taskOf(context: RunContext, { delegation, paths }: OutsideWork, { marker }: Names): string {
  return taskText({
    document: context.document,
    prompt: delegation.prompt,
    repository: paths.root,
    completionMarker: join(paths.root, marker),
    expectedArtifacts: delegation.expectedArtifacts,
    timeoutSec: context.lease.timeout_sec,
  });
}
