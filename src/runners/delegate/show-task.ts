import { chmod, lstat, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isPathIn } from "../../core/path-rules.ts";
import { RunFailure } from "../runner.ts";
import type { CheckedPaths } from "./repository/check-paths.ts";
import { showRepository } from "./repository/show-repository.ts";

/**
 * A directory in the workspace with the task, for agents that read nothing outside of their workspace. It exists only
 * while the agent works, and its content is never part of a diff.
 */
export const taskDirName = ".writ-task";
export const taskFileName = "TASK.md";

/** The directory on the host, and where the agent sees it. */
export type TaskDir = { dir: string; path: string };

type Shown = Parameters<typeof showRepository>[0];

/**
 * The mounts of a repository, with the task in it. The task is left out if the repository has another entry of its
 * name, or so many entries that the directory would have to be created. Why: ADR 0102.
 */
export async function showWithTask(shown: Shown) {
  const { paths, spareDir } = shown;
  if (!(await hasRoomForTask(paths))) return { mounts: await showRepository(shown), task: undefined };
  const task = { dir: `${spareDir}-task`, path: join(paths.root, taskDirName) };
  await makeTaskDir(task.dir);
  const mount = { source: task.dir, target: task.path, access: "read-only" as const };
  const writable = [...shown.writable, { path: taskDirName, mount }];
  try {
    const mounts = await showRepository({ ...shown, writable, spareDir: `${spareDir}-with-task` });
    return { mounts, task };
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error;
    return { mounts: await showRepository(shown), task: undefined };
  }
}

/** Sets the mode explicitly, because the agent may be another user and the umask of the worker may exclude it. */
export async function makeTaskDir(dir: string): Promise<void> {
  await mkdir(dir);
  await chmod(dir, 0o755);
}

export async function writeTaskInto({ dir }: TaskDir, text: string): Promise<void> {
  const file = join(dir, taskFileName);
  await writeFile(file, text, { flag: "wx" });
  await chmod(file, 0o444);
}

/** A job that may change such a directory has one of its own. */
export function isTaskDirFree({ allowed }: Pick<CheckedPaths, "allowed">): boolean {
  return allowed.every(({ path }) => !isPathIn(path, taskDirName));
}

async function hasRoomForTask(paths: CheckedPaths): Promise<boolean> {
  // What does not exist leaves room for the task.
  const found = await lstat(join(paths.root, taskDirName)).catch(() => null);
  return isTaskDirFree(paths) && (found === null || found.isDirectory());
}
