import { readFile, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../../../core/errors.ts";
import type { Clock, Timer } from "../../../runtime/clock/clock.ts";
import { writePrivateFile } from "../../../runtime/files/private-file.ts";
import type { Tree } from "../repository/read-tree.ts";
import type { Workspace } from "../repository/workspace.ts";

/** The data for putting a repository back: its former state, and the place of the copies. */
export type Undo = Pick<Workspace, "dir" | "beforeDir" | "before" | "look" | "allowed">;

const recordName = "undo.json";
/** How often a running worker updates the record's time. Changes long after that time were not made by its agent. */
const aliveMs = 1_000;
const lateMs = 5_000;

/**
 * Keeps on disk what is needed to undo an agent's work in a repository, while the agent works: a worker that is killed does
 * it at its next start. `forget` is called when the job has ended, before the hub is told. Why: ADR 0066.
 */
export async function keepUndo(
  clock: Clock,
  attemptDir: string,
  workspace: Workspace,
): Promise<{ forget(): Promise<void> }> {
  const file = join(attemptDir, recordName);
  const { dir, look, allowed, before } = workspace;
  await writePrivateFile(file, JSON.stringify({ dir, look, allowed, before: asLists(before) }));
  let timer: Timer;
  const sayAlive = (): void => {
    const now = Date.now() / 1000;
    // A missed sign of life only shortens the time that counts as the agent's.
    void utimes(file, now, now).catch(() => {});
    timer = clock.setTimer(sayAlive, aliveMs);
  };
  timer = clock.setTimer(sayAlive, aliveMs);
  return {
    async forget() {
      timer.cancel();
      await rm(file, { force: true });
    },
  };
}

/**
 * The record of an attempt of a killed worker, and the time until which its agent can have worked; null if there is
 * none.
 */
export async function readUndo(attemptDir: string): Promise<{ undo: Undo; untilMs: number } | null> {
  const file = join(attemptDir, recordName);
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    // Other entries than directories of attempts have no record.
    if (hasCode(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  });
  if (text === null) return null;
  const record = JSON.parse(text) as Omit<Undo, "before"> & { before: TreeLists };
  const undo = { ...record, beforeDir: join(attemptDir, "before"), before: asTree(record.before) };
  return { undo, untilMs: (await stat(file)).mtimeMs + lateMs };
}

type TreeLists = ReturnType<typeof asLists>;

function asLists({ files, gitPaths, dirs, leftOut }: Tree) {
  return { files: [...files], gitPaths: [...gitPaths], dirs: [...dirs], leftOut: [...leftOut] };
}

function asTree({ files, gitPaths, dirs, leftOut }: TreeLists): Tree {
  return {
    files: new Map(files),
    gitPaths: new Map(gitPaths),
    dirs: new Set(dirs),
    leftOut: new Map(leftOut),
  };
}
