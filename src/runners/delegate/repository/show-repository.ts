import { lstat, mkdir, readdir, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasCode } from "../../../core/errors.ts";
import { isPathIn } from "../../../core/path-rules.ts";
import { jobMountsProblem } from "../../../sandbox/job-mounts.ts";
import type { JobMount } from "../../../sandbox/sandbox.ts";
import { RunFailure } from "../../runner.ts";
import type { CheckedPaths } from "./check-paths.ts";
import { makePlace } from "./copy-tree.ts";

type Shown = {
  paths: CheckedPaths;
  /** Whether the kernel maps owners. */
  isMapped: boolean;
  /** The sources of the allowed paths; in place, the repository itself. */
  writable: readonly { path: string; mount: JobMount }[];
  /** The directories of git inside of the allowed paths. */
  gitPaths: readonly string[];
  /** Paths that are to look empty. */
  covered: readonly string[];
  /** A directory for mount points that the repository does not have. */
  spareDir: string;
};

/** Each entry of a directory that has to be rebuilt is a mount, and a job has at most 128. */
const rebuiltEntriesMax = 90;

/**
 * The mounts by which an agent sees a repository at its own path: all of it read-only, forbidden paths covered, and the
 * allowed paths on top. Owners are mapped only there: of the rest an agent can read the files that every user may read.
 * The repository is not changed: if it lacks an allowed directory, the directory above it is rebuilt from mounts of its
 * entries. Why: ADR 0048, ADR 0097.
 */
export async function showRepository(shown: Shown): Promise<JobMount[]> {
  const { writable, gitPaths } = shown;
  const { root } = shown.paths;
  const writablePaths = writable.map(({ path }) => path);
  const rebuilt = await rebuiltDirs(root, writablePaths);
  const mounts = rebuilt.has("") ? [] : [readOnlyMount(shown, "")];
  for (const dir of rebuilt)
    mounts.push(...(await rebuild(shown, { dir, covered: [...rebuilt, ...writablePaths] })));
  for (const { path, mount } of writable) mounts.push(mount, ...(await pinned(shown, { path, mount })));
  for (const path of gitPaths) mounts.push(await gitMount(shown, path));
  for (const path of shown.covered) mounts.push(...(await cover(shown, path)));
  // A mount comes after the one that it is in.
  const ordered = mounts.toSorted((left, right) => depth(left.target) - depth(right.target));
  const problem = jobMountsProblem(ordered);
  if (problem === null) return ordered;
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", `repo_root cannot be shown in a cage: ${problem}`);
}

/** The nearest directories above paths that the repository does not have. */
async function rebuiltDirs(root: string, paths: readonly string[]): Promise<Set<string>> {
  const dirs = new Set<string>();
  for (const path of paths) {
    if (await exists(join(root, path))) continue;
    let dir = path;
    do dir = dir.includes("/") ? dirname(dir) : "";
    while (dir !== "" && !(await exists(join(root, dir))));
    // A path inside another allowed path is part of that copy.
    if (!paths.some((other) => other !== path && dir !== "" && isPathIn(dir, other))) dirs.add(dir);
  }
  return dirs;
}

/** `covered` has the entries that get a mount of their own, or are rebuilt themselves. */
async function rebuild(
  shown: Shown,
  { dir, covered }: { dir: string; covered: readonly string[] },
): Promise<JobMount[]> {
  const { root } = shown.paths;
  const spare = join(shown.spareDir, `rebuilt-${depth(dir)}-${dir.replaceAll("/", "_").slice(0, 100)}`);
  await makePlace(spare, "directory");
  const mounts: JobMount[] = [{ source: spare, target: join(root, dir), access: "read-only" }];
  for (const entry of await readdir(join(root, dir), { withFileTypes: true })) {
    const path = dir === "" ? entry.name : `${dir}/${entry.name}`;
    if (entry.isSymbolicLink()) await symlink(await readlink(join(root, path)), join(spare, entry.name));
    if (!entry.isDirectory() && !entry.isFile()) continue;
    await makePlace(join(spare, entry.name), entry.isFile() ? "file" : "directory");
    if (![...covered, ...shown.covered].includes(path)) mounts.push(readOnlyMount(shown, path));
  }
  for (const path of covered.filter((other) => other !== dir && (dir === "" || isPathIn(other, dir))))
    await makePlace(join(spare, path.slice(dir === "" ? 0 : dir.length + 1)), "directory").catch(unlessThere);
  if (mounts.length <= rebuiltEntriesMax) return mounts;
  const reason = `allowed_paths: ${join(root, dir)} lacks a path that may change and has too many entries to be shown without changing it; create the path, allow the directory above it, or use mode in-place`;
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

function readOnlyMount({ paths }: Shown, path: string): JobMount {
  const source = join(paths.root, path);
  return { source, target: source, access: "read-only" };
}

/** What git keeps inside of a path that may change is part of that path. */
async function gitMount(shown: Shown, path: string): Promise<JobMount> {
  const mount = readOnlyMount(shown, path);
  const { uid, gid } = await lstat(mount.source);
  return shown.isMapped ? { ...mount, idmapped: { uid, gid } } : mount;
}

/**
 * The directories that lead to a covered path inside of one that may change. Each is mounted on itself, because a mount
 * point cannot be renamed: under another name, the covered path would be visible.
 */
async function pinned(
  { covered, isMapped }: Shown,
  { path, mount }: Shown["writable"][number],
): Promise<JobMount[]> {
  const names = covered.filter((other) => other !== path && isPathIn(other, path));
  const mounts: JobMount[] = [];
  for (const dir of new Set(names.flatMap((other) => dirsBetween(path, other)))) {
    const [source, target] = [join(mount.source, dir), join(mount.target, dir)];
    // A path that does not exist needs no mount.
    const found = await lstat(source).catch(() => null);
    if (!found?.isDirectory()) continue;
    const idmapped = isMapped ? { idmapped: { uid: found.uid, gid: found.gid } } : {};
    mounts.push({ source, target, access: mount.access, ...idmapped });
  }
  return mounts;
}

/** Relative to the upper one of the two, neither of which is part of it. */
function dirsBetween(upper: string, lower: string): string[] {
  const names = lower
    .slice(upper.length + 1)
    .split("/")
    .slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** A forbidden path inside the repository looks empty. */
async function cover({ paths, spareDir }: Shown, path: string): Promise<JobMount[]> {
  const target = join(paths.root, path);
  // A path that does not exist needs no cover.
  const found = await lstat(target).catch(() => null);
  if (found === null || found.isSymbolicLink()) return [];
  await mkdir(spareDir, { recursive: true });
  const source = join(spareDir, found.isDirectory() ? "empty" : "empty-file");
  if (found.isDirectory()) await mkdir(source, { recursive: true, mode: 0o555 });
  else await writeFile(source, "", { mode: 0o444, flag: "wx" }).catch(unlessThere);
  return [{ source, target, access: "read-only" }];
}

function depth(path: string): number {
  return path.split("/").length;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function unlessThere(error: unknown): void {
  if (!hasCode(error, "EEXIST")) throw error;
}
