import { type FileHandle, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JobDocument } from "../../../contract/document.ts";
import { codeOf, hasCode } from "../../../core/errors.ts";
import { absolutePathProblem, changeablePathProblem, isPathIn, plainPath } from "../../../core/path-rules.ts";
import { openBase, openBeneath } from "../../../runtime/files/open-beneath.ts";
import { PathRefused } from "../../../runtime/files/path-refused.ts";
import { RunFailure } from "../../runner.ts";
import type { DelegateSettings } from "../delegate-settings.ts";
import { findOwnFiles, ownFolderAbove } from "./find-own-files.ts";

export type Owner = { uid: number; gid: number };

/** A path of the repository that the agent may change; null for one that does not exist yet. */
type AllowedPath = { path: string; found: { isFile: boolean; owner: Owner } | null };

export type CheckedPaths = {
  /** The repository, without a link on the way. */
  root: string;
  owner: Owner;
  /** No path is inside another. */
  allowed: readonly AllowedPath[];
  /** Forbidden paths inside the repository, relative to it: the agent does not see them. */
  hidden: readonly string[];
};

type PathSettings = Pick<DelegateSettings, "allowedPathPrefixes" | "forbiddenPaths" | "repoRoots">;

/**
 * Checks the paths of a job against the worker's settings, before anything is written. Throws a RunFailure:
 * SECURITY_VIOLATION for a path that leaves its bounds, INVALID_JOB for one that just does not exist. Why: ADR 0048.
 */
export async function checkPaths(
  settings: PathSettings,
  { repo_root, allowed_paths = [] }: Pick<JobDocument, "repo_root" | "allowed_paths">,
): Promise<CheckedPaths> {
  const named = plainPath(repo_root ?? "");
  const problem = absolutePathProblem(repo_root ?? "");
  if (problem !== null) throw traversal(`repo_root ${problem}`);
  for (const path of allowed_paths) checkAllowed(settings, path);

  const forbidden = await realPaths(settings.forbiddenPaths);
  refuseForbidden(forbidden, named);
  const root = await realRoot(named);
  refuseForbidden(forbidden, root);
  refuseOwnFolder(root);
  await refuseOtherRoots(settings.repoRoots, root);
  const base = await openBase(root);
  try {
    const allowed: AllowedPath[] = [];
    for (const path of outermost(allowed_paths.map(plainPath))) {
      refuseForbidden(forbidden, join(root, path));
      allowed.push({ path, found: await look(base, path) });
    }
    const { uid, gid } = await base.stat();
    const hidden = await hiddenIn(root, { forbidden, allowed: allowed.map(({ path }) => path) });
    return { root, owner: { uid, gid }, allowed, hidden };
  } finally {
    await base.close();
  }
}

export function traversal(reason: string): RunFailure {
  return new RunFailure("SECURITY_VIOLATION", "PATH_TRAVERSAL_ATTEMPT", reason);
}

function checkAllowed({ allowedPathPrefixes }: PathSettings, path: string): void {
  const shown = JSON.stringify(path.slice(0, 200));
  const problem = changeablePathProblem(path);
  if (problem !== null) throw traversal(`allowed_paths: ${shown} ${problem}`);
  if (allowedPathPrefixes.some((prefix) => isPathIn(path, prefix))) return;
  const prefixes = allowedPathPrefixes.join(", ") || "none";
  throw traversal(`allowed_paths: ${shown} is not in one of the worker's allowed_path_prefixes: ${prefixes}`);
}

/** Each path as written and as resolved, because a job may use either form. */
async function realPaths(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return [...new Set([...paths, ...real].map(plainPath))];
}

function refuseForbidden(forbidden: readonly string[], path: string): void {
  const found = forbidden.find((dir) => isPathIn(path, dir));
  if (found !== undefined) throw traversal(`${path} is in ${found}, which is forbidden on this worker`);
}

/**
 * Refuses any home or key folder of Writ, even one that is not in the settings: it may hold the keys that sign for
 * every tenant.
 */
function refuseOwnFolder(root: string): void {
  const found = ownFolderAbove(root);
  if (found !== undefined)
    throw traversal(`${root} is in ${found}, a home or a folder with keys of a hub or worker`);
}

type Inside = { forbidden: readonly string[]; allowed: readonly string[] };

/** The parts of a repository that an agent does not see, for example the hub's home in a checkout of Writ. */
async function hiddenIn(root: string, { forbidden, allowed }: Inside): Promise<string[]> {
  const forbiddenHere = forbidden.filter((path) => isPathIn(path, root));
  const own = await findOwnFiles(root, allowed);
  const refused = allowed.find((path) => own.some((dir) => isPathIn(path, dir)));
  if (refused !== undefined)
    throw traversal(`allowed_paths: ${JSON.stringify(refused)} belongs to a hub or a worker`);
  return outermost([...forbiddenHere.map((path) => path.slice(root.length + 1)), ...own]);
}

async function refuseOtherRoots(repoRoots: PathSettings["repoRoots"], root: string): Promise<void> {
  if (repoRoots === undefined) return;
  if ((await realPaths(repoRoots)).some((dir) => isPathIn(root, dir))) return;
  throw traversal(`${root} is not in one of the worker's repo_roots: ${repoRoots.join(", ") || "none"}`);
}

async function realRoot(named: string): Promise<string> {
  try {
    const root = await realpath(named);
    if ((await stat(root)).isDirectory() && root !== "/") return root;
    throw invalid(`repo_root ${named} is not a directory that holds a repository`);
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) throw error;
    throw invalid(`repo_root ${named} cannot be used on this worker: ${codeOf(error)}`);
  }
}

function invalid(reason: string): RunFailure {
  return new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

function outermost(paths: readonly string[]): string[] {
  const unique = [...new Set(paths)];
  return unique.filter((path) => !unique.some((other) => other !== path && isPathIn(path, other)));
}

/** Examines a path without following a link. */
async function look(base: FileHandle, path: string): Promise<AllowedPath["found"]> {
  for (const kind of ["directory", "file"] as const) {
    try {
      const handle = await openBeneath(base, path, kind);
      const { uid, gid, dev } = await handle.stat().finally(() => handle.close());
      if (dev !== (await base.stat()).dev)
        throw traversal(`allowed_paths: ${JSON.stringify(path)} is on another file system`);
      return { isFile: kind === "file", owner: { uid, gid } };
    } catch (error) {
      if (!(error instanceof PathRefused)) throw error;
      if (error.leadsOut) throw traversal(`allowed_paths: ${error.message}`);
      if (error.refusal === "missing") return null;
      if (kind === "file") throw invalid(`allowed_paths: ${error.message}`);
    }
  }
  return null;
}
