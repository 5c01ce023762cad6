import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectoryBeneath } from "../../../runtime/files/create-beneath.ts";
import { openBase } from "../../../runtime/files/open-beneath.ts";
import { cageIds } from "../../../sandbox/launch-plan.ts";
import type { JobMount } from "../../../sandbox/sandbox.ts";
import { isTaskDirFree, makeTaskDir, showWithTask, type TaskDir, taskDirName } from "../show-task.ts";
import type { CheckedPaths, Owner } from "./check-paths.ts";
import { copyTree } from "./copy-tree.ts";
import { type Look, readTree, type Tree } from "./read-tree.ts";
import { showRepository } from "./show-repository.ts";
import type { Workspace } from "./workspace.ts";

type WorkspacePlace = {
  /** The directory of the attempt, which no job sees. */
  attemptDir: string;
  /** Whether processes here see only what is mounted for them. */
  hasJail: boolean;
  /** Whether the agent is such a process. */
  isCaged: boolean;
  /** Whether the kernel maps owners. */
  isMapped: boolean;
  /** Whether the worker is root, so that a job is another user than the owner of its files. */
  isRoot: boolean;
  maxFileBytes: number;
};

const everything = Number.MAX_SAFE_INTEGER;

/**
 * The agent works on a copy of the allowed paths. In a cage the copy is mounted over the repository; without one the
 * agent gets a copy of the whole repository, and starts in that. Why: ADR 0048, ADR 0096.
 */
export async function openCopy(paths: CheckedPaths, place: WorkspacePlace): Promise<Workspace> {
  const { attemptDir, isCaged, isRoot, maxFileBytes } = place;
  const allowed = paths.allowed.map(({ path }) => path);
  const look = withoutTask(paths, lookAt(paths, place));
  const dir = join(attemptDir, "copy");
  const beforeDir = join(attemptDir, "before");
  await mkdir(dir, { mode: 0o755 });
  await mkdir(beforeDir, { mode: 0o700 });
  const giveTo = isRoot ? cageIds : undefined;
  const readableFor = isRoot ? paths.owner : undefined;
  await copyTree(paths.root, { ...look, to: dir, fileBytesMax: everything, giveTo, readableFor });
  for (const path of allowed) await makeOwn(dir, path, giveTo);
  await copyTree(dir, { ...look, to: beforeDir, fileBytesMax: maxFileBytes });
  const before = await readTree(dir, look);
  const writable = paths.allowed.map(({ path }) => ({
    path,
    mount: { source: join(dir, path), target: join(paths.root, path), access: "writable" as const },
  }));
  const shown = {
    paths,
    isMapped: place.isMapped,
    writable,
    gitPaths: [...before.gitPaths.keys()],
    // Forbidden parts of an allowed path are not in the copy.
    covered: paths.hidden.filter((path) => !allowed.some((root) => path.startsWith(`${root}/`))),
    spareDir: join(attemptDir, "spare"),
  };
  const { mounts, task } = isCaged ? await showWithTask(shown) : { mounts: [], task: undefined };
  return {
    kind: "copy",
    cwd: isCaged ? paths.root : dir,
    task: isCaged || !isTaskDirFree(paths) ? task : await taskIn(dir, dir),
    mounts,
    readOnlyMounts: mounts.map(readOnly),
    dir,
    beforeDir,
    before,
    look,
    allowed,
    restDir: isCaged ? paths.root : dir,
  };
}

/**
 * The agent works in the repository itself. If a file there has a second name elsewhere, like each file that pnpm
 * installs, it works on a copy that is moved in at the end: a write to one name would change the other.
 */
export async function openInPlace(paths: CheckedPaths, place: WorkspacePlace): Promise<Workspace> {
  const before = await readTree(paths.root, lookAt(paths, place));
  if ([...before.files.values()].every(({ otherNames }) => otherNames === 0))
    return openLive(paths, place, before);
  return { ...(await openCopy(paths, place)), kind: "in-place", moveInto: paths.root };
}

/** The agent works in the repository itself, even if files have second names. */
export async function openLive(paths: CheckedPaths, place: WorkspacePlace, seen?: Tree): Promise<Workspace> {
  const { attemptDir, isCaged, isRoot, maxFileBytes } = place;
  const look = lookAt(paths, place);
  const before = seen ?? (await readTree(paths.root, look));
  const allowed = paths.allowed.map(({ path }) => path);
  const beforeDir = join(attemptDir, "before");
  await mkdir(beforeDir, { mode: 0o700 });
  await copyTree(paths.root, { ...look, to: beforeDir, fileBytesMax: maxFileBytes });
  const missing = paths.allowed.filter(({ found }) => found === null);
  for (const { path } of missing) await makeInRepository(paths, path, isRoot);
  const writable = paths.allowed.map(({ path, found }) => {
    const source = join(paths.root, path);
    const idmapped = found?.owner ?? paths.owner;
    return { path, mount: { source, target: source, access: "writable" as const, idmapped } };
  });
  const gitPaths = [...before.gitPaths.keys()];
  const spareDir = join(attemptDir, "spare");
  const shown = { paths, isMapped: place.isMapped, gitPaths, covered: paths.hidden, spareDir };
  const mounts = place.hasJail ? await showRepository({ ...shown, writable }) : [];
  return {
    kind: "in-place",
    cwd: paths.root,
    mounts: isCaged ? mounts : [],
    readOnlyMounts: mounts.map(readOnly),
    dir: paths.root,
    beforeDir,
    before,
    look,
    allowed,
    restDir: paths.root,
  };
}

/** For a job without a repository: an empty directory of its own, which is kept whole. */
export async function openPrivate(
  place: Pick<WorkspacePlace, "attemptDir" | "hasJail"> & { workDir: string; inside: string },
): Promise<Workspace> {
  const name = "repository";
  const dir = join(place.workDir, name);
  const beforeDir = join(place.attemptDir, "before");
  for (const made of [dir, beforeDir]) await mkdir(made, { mode: 0o700 });
  const look: Look = { roots: [""], hidden: [taskDirName] };
  const cwd = join(place.inside, name);
  return {
    kind: "private",
    cwd,
    task: await taskIn(dir, cwd),
    mounts: [],
    readOnlyMounts: place.hasJail ? [{ source: dir, target: cwd, access: "read-only" }] : [],
    dir,
    beforeDir,
    before: await readTree(dir, look),
    look,
    allowed: [""],
    restDir: dir,
  };
}

/** The compared paths: the allowed ones, and without a cage the whole repository. */
function lookAt({ allowed, hidden }: CheckedPaths, { isCaged }: Pick<WorkspacePlace, "isCaged">): Look {
  return { roots: isCaged ? allowed.map(({ path }) => path) : [""], hidden };
}

/** The task files are not the agent's work. */
function withoutTask(paths: CheckedPaths, look: Look): Look {
  return isTaskDirFree(paths) ? { ...look, hidden: [...look.hidden, taskDirName] } : look;
}

async function taskIn(dir: string, seenAt: string): Promise<TaskDir> {
  await makeTaskDir(join(dir, taskDirName));
  return { dir: join(dir, taskDirName), path: join(seenAt, taskDirName) };
}

async function makeOwn(dir: string, path: string, giveTo: Owner | undefined): Promise<void> {
  const names = path.split("/");
  for (let length = 1; length <= names.length; length++) {
    const made = join(dir, ...names.slice(0, length));
    const isNew = await mkdir(made).then(
      () => true,
      () => false,
    );
    if (isNew && giveTo !== undefined) await chown(made, giveTo.uid, giveTo.gid);
  }
}

async function makeInRepository({ root, owner }: CheckedPaths, path: string, isRoot: boolean): Promise<void> {
  const base = await openBase(root);
  try {
    await (await makeDirectoryBeneath(base, path.split("/"), { owner: isRoot ? owner : undefined })).close();
  } finally {
    await base.close();
  }
}

function readOnly(mount: JobMount): JobMount {
  return { ...mount, access: "read-only" };
}
