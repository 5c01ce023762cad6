import { lstat } from "node:fs/promises";
import { posix } from "node:path";
import { cageDirs, isBeneath, tmpDir, workDirInCage } from "./cage-mounts.ts";
import { PlanRefused } from "./launcher/frame-writer.ts";
import { type MountStep, mountFlag, mountKind } from "./launcher/launcher-protocol.ts";
import type { JobMount } from "./sandbox.ts";

/** Together with the mounts of every cage, this stays well below the launcher's limit for one plan. */
const jobMountsMax = 128;
/** The next number means "no id" to the kernel. */
const idMax = 2 ** 32 - 2;

/**
 * The launcher's steps for the mounts of one job, in order. Throws PlanRefused for a mount that cannot be made.
 * Why: ADR 0020.
 */
export async function jobMountSteps(mounts: readonly JobMount[]): Promise<MountStep[]> {
  const problem = jobMountsProblem(mounts);
  if (problem !== null) throw new PlanRefused("EINVAL", problem);
  const steps: MountStep[] = [];
  for (const mount of mounts) steps.push(await mountStep(mount));
  return steps;
}

/** Why these mounts cannot be planned; null when they can. */
export function jobMountsProblem(mounts: readonly JobMount[]): string | null {
  if (mounts.length > jobMountsMax) return `a job has at most ${jobMountsMax} mounts, not ${mounts.length}`;
  for (const [index, mount] of mounts.entries()) {
    const covered = mounts.slice(0, index).find(({ target }) => isBeneath(target, mount.target));
    const problem =
      pathProblem("source", mount.source) ??
      pathProblem("target", mount.target) ??
      placeProblem(mount.target) ??
      ownerProblem(mount) ??
      (covered === undefined ? null : `it would cover ${covered.target}, which is mounted before it`);
    if (problem !== null) return `mount ${mount.target}: ${problem}`;
  }
  return null;
}

function pathProblem(field: "source" | "target", path: string): string | null {
  if (!path.startsWith("/") || path === "/") return `${field} "${path}" must be an absolute path below /`;
  const isNormal = posix.normalize(path) === path && !path.endsWith("/");
  return isNormal
    ? null
    : `${field} "${path}" must be written without . and .. and // and without / at its end`;
}

/** Mounts may be placed in /work and /tmp, beside the job's own files, but not in the other directories of the cage. */
function placeProblem(target: string): string | null {
  if (target === workDirInCage || target === tmpDir)
    return `${target} is the job's own folder; use a path inside it`;
  const taken = [...cageDirs, "/sys"].find(
    (dir) => dir !== workDirInCage && dir !== tmpDir && isBeneath(target, dir),
  );
  return taken === undefined ? null : `${taken} is reserved for the cage`;
}

function ownerProblem({ idmapped }: JobMount): string | null {
  if (idmapped === undefined) return null;
  const isId = (id: number): boolean => Number.isSafeInteger(id) && id >= 0 && id <= idMax;
  if (isId(idmapped.uid) && isId(idmapped.gid)) return null;
  return `idmapped ${idmapped.uid}:${idmapped.gid} must be the uid and gid of the owner of its source`;
}

/**
 * Looking at the source here only decides which kind of mount point is needed. The launcher resolves the path again,
 * without following links, and refuses a source that has become something else meanwhile.
 */
async function mountStep({ source, target, access, idmapped, noexec }: JobMount): Promise<MountStep> {
  const isFile = await isPlainFile(source, target);
  const flags =
    (access === "writable" ? mountFlag.WRITABLE : 0) |
    (noexec === true ? mountFlag.NOEXEC : 0) |
    (isFile ? mountFlag.ONE_FILE : 0) |
    (idmapped === undefined ? 0 : mountFlag.IDMAP);
  return { kind: mountKind.JOB, target, source, flags, ...idmapped };
}

async function isPlainFile(source: string, target: string): Promise<boolean> {
  const refuse = (why: string): never => {
    throw new PlanRefused("EINVAL", `mount ${target}: source ${source} ${why}`);
  };
  const found = await lstat(source).catch((error: NodeJS.ErrnoException) =>
    refuse(`cannot be used: ${error.code}`),
  );
  if (found.isSymbolicLink()) refuse("is a symbolic link; use the path that it leads to");
  if (!found.isFile() && !found.isDirectory()) refuse("is neither a directory nor a plain file");
  return found.isFile();
}
