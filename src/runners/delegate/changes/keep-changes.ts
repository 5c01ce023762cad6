import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { diffPath } from "../../../core/jobs/diff-path.ts";
import { objectKeyProblem } from "../../../core/storage-policy.ts";
import { openBase, openBeneath } from "../../../runtime/files/open-beneath.ts";
import { PathRefused } from "../../../runtime/files/path-refused.ts";
import { RunFailure } from "../../runner.ts";
import { gitPatch, type Side } from "../diff/git-patch.ts";
import type { TreeFile } from "../repository/read-tree.ts";
import type { Workspace } from "../repository/workspace.ts";
import { type Change, shown } from "./find-changes.ts";

type SizeLimits = { maxFileBytes: number; maxTotalBytes: number };

/** The directory of an attempt from which the changes of an agent are kept. No job sees it. */
export const changesName = "changes";
const filesName = "files";
/** The receipt lists at most 1000 files, and one is the diff. */
const filesMax = 999;

/**
 * Writes the changes of an agent to the directory that is stored: one diff that git reads, and each changed file as it
 * is now. Throws a RunFailure if they are larger than the worker allows.
 */
export async function keepChanges(
  workspace: Workspace,
  changed: readonly Change[],
  { attemptDir, limits }: { attemptDir: string; limits: SizeLimits },
): Promise<void> {
  refuseLarge(changed, limits);
  if (changed.length === 0) return;
  const dir = join(attemptDir, changesName);
  await mkdir(dir, { mode: 0o700 });
  const patches: Buffer[] = [];
  for (const { path, before, after } of changed) {
    const now = await sideOf(workspace.dir, path, after);
    patches.push(gitPatch(path, await sideOf(workspace.beforeDir, path, before), now));
    const key = `${filesName}/${path}`;
    // A link has no content of its own. A file whose name the storage refuses is in the diff nevertheless.
    if (now === null || now.mode === "120000" || objectKeyProblem(key) !== null) continue;
    await mkdir(dirname(join(dir, key)), { recursive: true });
    await writeFile(join(dir, key), now.bytes);
  }
  await writeFile(join(dir, diffPath), Buffer.concat(patches));
}

function refuseLarge(changed: readonly Change[], { maxFileBytes, maxTotalBytes }: SizeLimits): void {
  const sizeOf = ({ before, after }: Change): number => Math.max(before?.size ?? 0, after?.size ?? 0);
  const large = changed.find((change) => sizeOf(change) > maxFileBytes);
  if (large !== undefined)
    throw tooLarge(
      `${shown(large.path)} has ${sizeOf(large)} bytes; a changed file may have ${maxFileBytes}`,
    );
  const total = changed.reduce((sum, change) => sum + sizeOf(change), 0);
  if (total > maxTotalBytes)
    throw tooLarge(`the changed files have ${total} bytes in all; they may have ${maxTotalBytes}`);
  if (changed.length > filesMax)
    throw tooLarge(`${changed.length} files were changed; a job may change ${filesMax}`);
}

/** The same task would most likely end the same way, and each attempt of an agent may cost money. */
function tooLarge(reason: string): RunFailure {
  return new RunFailure("INVALID_JOB", undefined, reason);
}

async function sideOf(dir: string, path: string, file: TreeFile | undefined): Promise<Side> {
  if (file === undefined) return null;
  if (file.kind === "link") return { mode: "120000", bytes: Buffer.from(file.target ?? "") };
  const mode = (file.mode & 0o100) === 0 ? "100644" : "100755";
  const base = await openBase(dir);
  try {
    const handle = await openBeneath(base, path).catch(asFailure);
    try {
      return { mode, bytes: await handle.readFile() };
    } finally {
      await handle.close();
    }
  } finally {
    await base.close();
  }
}

/**
 * For example a name with a backslash, or two names of one file: a diff cannot express it, and a retry does not help.
 */
function asFailure(error: unknown): never {
  if (!(error instanceof PathRefused)) throw error;
  const reason = `a changed file cannot be kept: ${error.message}`;
  if (error.refusal === "missing") throw new RunFailure("EXECUTION_ERROR", "MANIFEST_INVALID", reason);
  throw new RunFailure("INVALID_JOB", undefined, reason);
}
