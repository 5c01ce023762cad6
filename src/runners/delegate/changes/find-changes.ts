import { posix } from "node:path";
import { isGitPath, isPathIn } from "../../../core/path-rules.ts";
import type { GitPath, Tree, TreeFile } from "../repository/read-tree.ts";

export type Change = {
  path: string;
  change: "added" | "modified" | "deleted";
  before?: TreeFile;
  after?: TreeFile;
};

export type Changes = {
  /** In the order of their paths. */
  changed: Change[];
  /** Directories that were not there before, and those that are gone. */
  newDirs: string[];
  lostDirs: string[];
  /** The same for what git keeps for itself. */
  newGit: Map<string, GitPath>;
  lostGit: Map<string, GitPath>;
  /** Changes that only an agent makes that tries to reach more than was allowed. */
  offences: string[];
};

/** Finds the differences in `after`, and those that are not allowed. Why: ADR 0048. */
export function findChanges(before: Tree, after: Tree, allowed: readonly string[]): Changes {
  const paths = [...new Set([...before.files.keys(), ...after.files.keys()])].sort();
  const changed = paths.flatMap((path) => changeOf(path, before.files.get(path), after.files.get(path)));
  const newGit = missingIn(before.gitPaths, after.gitPaths);
  return {
    changed,
    newDirs: [...after.dirs.difference(before.dirs)],
    lostDirs: [...before.dirs.difference(after.dirs)],
    newGit,
    lostGit: missingIn(after.gitPaths, before.gitPaths),
    offences: [
      ...[...newGit.keys()].map((path) => `${shown(path)} was made, and belongs to git`),
      ...changed.flatMap((change) => offencesOf(change, allowed)),
    ],
  };
}

function missingIn<T>(without: ReadonlyMap<string, T>, paths: ReadonlyMap<string, T>): Map<string, T> {
  return new Map([...paths].filter(([path]) => !without.has(path)));
}

function changeOf(path: string, before: TreeFile | undefined, after: TreeFile | undefined): Change[] {
  if (before === undefined) return [{ path, change: "added", after: after! }];
  if (after === undefined) return [{ path, change: "deleted", before }];
  return isSame(before, after) ? [] : [{ path, change: "modified", before, after }];
}

/** Git records only whether a file can be executed; set-id bits matter here too. */
function isSame(before: TreeFile, after: TreeFile): boolean {
  const bits = 0o6100;
  return (
    before.kind === after.kind &&
    before.sha256 === after.sha256 &&
    (before.kind === "link" || (before.mode & bits) === (after.mode & bits)) &&
    before.otherNames >= after.otherNames
  );
}

function offencesOf({ path, before, after }: Change, allowed: readonly string[]): string[] {
  const found: string[] = [];
  if (!allowed.some((dir) => isPathIn(path, dir))) found.push(`${shown(path)} is not in allowed_paths`);
  if (after === undefined) return found;
  if (after.kind === "link" && (before?.kind !== "link" || before.target !== after.target)) {
    const why = linkProblem(path, after.target ?? "");
    if (why !== null) found.push(`${shown(path)} is a link ${why}`);
  }
  if (after.kind === "file" && (after.mode & 0o6000 & ~(before?.mode ?? 0)) !== 0)
    found.push(`${shown(path)} has a set-id bit`);
  if (after.otherNames > (before?.otherNames ?? 0)) found.push(`${shown(path)} has a second name elsewhere`);
  else if (hasChangedElsewhere(before, after))
    found.push(`${shown(path)} has a second name elsewhere, and was changed there too`);
  return found;
}

/** Whether a file was written that has other names outside of the allowed paths. A replaced file is another file. */
export function hasChangedElsewhere(before: TreeFile | undefined, after: TreeFile): boolean {
  return after.otherNames > 0 && before?.inode === after.inode;
}

/**
 * Why a link may lead out of the repository; null if it cannot. `..` may stand only at its beginning: behind a name that
 * is itself a link, it would lead anywhere.
 */
function linkProblem(path: string, target: string): string | null {
  if (target.startsWith("/")) return "to an absolute path";
  const names = target.split("/").filter((name) => name !== "" && name !== ".");
  const ups = names.findIndex((name) => name !== "..");
  if (ups !== -1 && names.slice(ups).includes("..")) return "with .. in its middle";
  const reached = posix.join(posix.dirname(path), target);
  if (reached === ".." || reached.startsWith("../")) return "that leads out of the repository";
  return isGitPath(reached) ? "into .git" : null;
}

export function shown(path: string): string {
  return JSON.stringify(path.length <= 200 ? path : `${path.slice(0, 200)}…`);
}

const namedMax = 5;

/** The first few of a list, for a sentence. */
export function listOf(texts: readonly string[]): string {
  const more = texts.length > namedMax ? `; and ${texts.length - namedMax} more` : "";
  return texts.slice(0, namedMax).join("; ") + more;
}
