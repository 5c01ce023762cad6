import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../../core/errors.ts";
import { tryReadCgroupFile, wordsIn, writeCgroupFile } from "./cgroup-files.ts";
import { type LimitPart, limitParts } from "./cgroup-limits.ts";
import { findOwnCgroup, type OwnCgroup } from "./own-cgroup.ts";

/** The worker's part of the cgroup tree: `<root>/writ/jobs`, and the limits that can be set below it. */
export type DelegatedCgroup = {
  /** Null if no job can have a cgroup of its own; `why` has the reason. */
  jobsDir: string | null;
  why: string | null;
  limits: Record<LimitPart, { had: boolean; why: string | null }>;
};

type DelegationOptions = {
  pid: number;
  uid: number;
  /**
   * Whether this process may move itself into a cgroup of its own. This is needed if it is in the very cgroup that is
   * delegated: the kernel allows no limits below a cgroup that contains processes. A command that only examines the
   * host must not move.
   */
  mayMove: boolean;
  mountinfo?: string;
  selfCgroup?: string;
};

/**
 * Prepares the cgroup below which jobs get theirs, and enables the limits there. It moves no process except this one.
 */
export function delegateCgroup(options: DelegationOptions): DelegatedCgroup {
  const place = findOwnCgroup(
    options.mountinfo ?? readProc("/proc/self/mountinfo"),
    options.selfCgroup ?? readProc("/proc/self/cgroup"),
  );
  if (place === null) return nowhere("the kernel has no unified hierarchy (cgroup v2) mounted");
  let best: DelegatedCgroup | undefined;
  for (const root of candidateRoots(place, options.uid)) {
    const found = takeRoot(root, options);
    if (best === undefined || score(found) > score(best)) best = found;
    if (score(best) > limitParts.length) break;
  }
  return best!;
}

/**
 * First this process's own cgroup, which a service with Delegate=yes owns. If other processes are in it too, as in a
 * terminal session, nothing can be delegated there; then the highest cgroup of this user, which for root is the root of
 * the whole tree, and for other users the cgroup of their service manager, if the session belongs to it.
 */
function candidateRoots({ mount, own }: OwnCgroup, uid: number): string[] {
  const suffix = "/writ/worker";
  const root = own.endsWith(suffix) ? own.slice(0, -suffix.length) : own;
  const top = uid === 0 ? (isHierarchyRoot(mount) ? mount : root) : topOwnedBy(uid, root, mount);
  return top === root ? [root] : [root, top];
}

/** The highest cgroup above this one that belongs to the user, with all between them. */
function topOwnedBy(uid: number, cgroup: string, mount: string): string {
  const parent = dirname(cgroup);
  if (cgroup === mount || statSync(parent, { throwIfNoEntry: false })?.uid !== uid) return cgroup;
  return topOwnedBy(uid, parent, mount);
}

/**
 * The root of the tree itself has no type; the root that a container sees has one, and may contain processes of others.
 */
function isHierarchyRoot(cgroup: string): boolean {
  return !existsSync(join(cgroup, "cgroup.type"));
}

function takeRoot(root: string, options: DelegationOptions): DelegatedCgroup {
  const writ = join(root, "writ");
  const jobsDir = join(writ, "jobs");
  try {
    mkdirSync(jobsDir, { recursive: true });
  } catch (error) {
    return nowhere(`${jobsDir} cannot be created: ${codeOf(error)}`);
  }
  const crowd = isHierarchyRoot(root) ? null : leaveRoot(root, options);
  for (const cgroup of [root, writ, jobsDir]) enableLimits(cgroup);
  const enabled = wordsIn(tryReadCgroupFile(jobsDir, "cgroup.subtree_control"));
  const offered = wordsIn(tryReadCgroupFile(root, "cgroup.controllers"));
  const whyNot = (part: LimitPart): string =>
    offered.includes(part)
      ? (crowd ?? `the ${part} controller cannot be enabled below ${root}`)
      : `the ${part} controller is not in ${root}/cgroup.controllers`;
  const limits = Object.fromEntries(
    limitParts.map((part) => {
      const had = enabled.includes(part);
      return [part, { had, why: had ? null : whyNot(part) }];
    }),
  ) as DelegatedCgroup["limits"];
  return { jobsDir, why: null, limits };
}

/** Moves this process out of the root. Returns why the root cannot be emptied, or null if it is empty. */
function leaveRoot(root: string, { pid, mayMove }: DelegationOptions): string | null {
  const inside = wordsIn(tryReadCgroupFile(root, "cgroup.procs")).map(Number);
  if (inside.length === 0) return null;
  if (inside.some((other) => other !== pid)) return `${root} contains other processes`;
  if (!mayMove) return `${root} contains this process; a worker would move itself`;
  const ownDir = join(root, "writ/worker");
  try {
    mkdirSync(ownDir, { recursive: true });
    writeCgroupFile(ownDir, "cgroup.procs", String(pid));
    return null;
  } catch (error) {
    return `this process cannot move to ${ownDir}: ${codeOf(error)}`;
  }
}

/** One by one, because a single one that is unavailable would make all fail. */
function enableLimits(cgroup: string): void {
  const enabled = wordsIn(tryReadCgroupFile(cgroup, "cgroup.subtree_control"));
  const offered = wordsIn(tryReadCgroupFile(cgroup, "cgroup.controllers"));
  for (const part of limitParts) {
    if (enabled.includes(part) || !offered.includes(part)) continue;
    try {
      writeCgroupFile(cgroup, "cgroup.subtree_control", `+${part}`);
    } catch {
      // A limit that could not be enabled is found when the cgroup below is examined.
    }
  }
}

function score({ jobsDir, limits }: DelegatedCgroup): number {
  return (jobsDir === null ? 0 : 1) + limitParts.filter((part) => limits[part].had).length;
}

function nowhere(why: string): DelegatedCgroup {
  const limits = Object.fromEntries(limitParts.map((part) => [part, { had: false, why }]));
  return { jobsDir: null, why, limits: limits as DelegatedCgroup["limits"] };
}

function readProc(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Without /proc there is no cgroup to find.
    return "";
  }
}
