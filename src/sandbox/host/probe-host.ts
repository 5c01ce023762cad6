import { lstatSync, readdirSync, readFileSync, readlinkSync, statfsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { release } from "node:os";
import { join } from "node:path";
import { pidsDefault } from "../../core/limits.ts";
import { buildAdvice } from "../../runtime/built-files.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { isProgramDir } from "../cage-mounts.ts";
import type { CageRights } from "../cage-rights.ts";
import { type LimitPart, limitParts } from "../cgroup/cgroup-limits.ts";
import { type DelegatedCgroup, delegateCgroup } from "../cgroup/delegated-cgroup.ts";
import { builtLauncherFile, type Launcher } from "../launcher/launcher.ts";
import { diskOf } from "./disk-of.ts";
import {
  type HostFacts,
  idmapParts,
  isKernelNewEnough,
  kernelMin,
  type PartFinding,
  type PartName,
  partNames,
  protectionBits,
  type RootEntry,
} from "./host-facts.ts";
import { rlimit } from "./rlimit-net.ts";
import { type CageTrial, tryCage } from "./try-cage.ts";
import { userNamespaceAdvice } from "./user-namespace-advice.ts";

export type ProbeOptions = {
  launcher: Launcher;
  /** The directory of the jobs' files. */
  workDir: string;
  /** Must exist; the trial creates its files in it and removes them again. */
  scratchDir: string;
  visiblePaths: readonly string[];
  pid: number;
  uid: number;
  /** Whether this process may move itself into a cgroup of its own. Only a worker that is about to run jobs should. */
  mayMove: boolean;
};

/** Examines which parts this host supports, and tries them once with a process that does nothing. */
export async function probeHost(options: ProbeOptions): Promise<HostFacts> {
  const cgroups = delegateCgroup(options);
  const kernel = release();
  const cgroupObstacle = isKernelNewEnough(kernel) ? cgroups.why : `Linux ${kernel} has no cgroup.kill`;
  const base: HostFacts = {
    parts: {} as HostFacts["parts"],
    ...(await askLauncher(options.launcher)),
    isRoot: options.uid === 0,
    countsProcesses: false,
    kernel,
    rootEntries: readRootEntries(),
    openFilesMax: readOpenFilesMax(),
    jobsDir: cgroupObstacle === null ? cgroups.jobsDir : null,
    controllers: [],
    disk: diskOf(options.workDir).device,
    diskFreeBytes: () => freeBytesOn(options.workDir),
  };
  const tried = await tryParts(base, options, cgroupObstacle);
  const cgroup = tried.get("cgroup")!;
  for (const part of limitParts) tried.set(part, limitFinding(part, { base, cgroup, cgroups, options }));
  return {
    ...base,
    launcherObstacle: tried.obstacle,
    countsProcesses: tried.countsProcesses,
    controllers: cgroup.had ? limitParts.filter((part) => cgroups.limits[part].had) : [],
    parts: Object.fromEntries(partNames.map((part) => [part, tried.get(part)!])) as HostFacts["parts"],
  };
}

async function askLauncher(
  launcher: Launcher,
): Promise<{ launcherObstacle: string | null; rights: CageRights }> {
  const obstacle = await launcher.obstacle();
  if (obstacle !== null) return { launcherObstacle: obstacle, rights: { kind: "none", why: obstacle } };
  try {
    return { launcherObstacle: null, rights: await launcher.rights() };
  } catch (error) {
    const why = (error as Error).message;
    return { launcherObstacle: why, rights: { kind: "none", why } };
  }
}

class Tried extends Map<PartName, PartFinding> {
  obstacle: string | null = null;
  countsProcesses = false;
}

/** How often a trial is repeated after a shortage, which on a booting host ends soon. */
const shortagesMax = 3;
const shortagePauseMs = 300;

/**
 * A round that fails at a part is repeated without it, so that one missing part does not hide the others. The findings
 * hold as long as the worker runs, so a round that failed because of a shortage is first repeated unchanged.
 */
async function tryParts(
  base: HostFacts,
  options: ProbeOptions,
  cgroupObstacle: string | null,
): Promise<Tried> {
  const tried = new Tried();
  tried.obstacle = base.launcherObstacle;
  if (cgroupObstacle !== null) tried.set("cgroup", missing(base, "cgroup", cgroupObstacle));
  const scratch = await mkdtemp(join(options.scratchDir, "probe-"));
  const roundsMax = launcherParts.length + 1 + shortagesMax;
  let shortages = 0;
  try {
    for (let round = 0; round < roundsMax && tried.obstacle === null; round++) {
      const parts = launcherParts.filter((part) => !tried.has(part));
      const result = await tryCage({ base, options, parts, scratch, round });
      if (result.kind === "works") {
        for (const part of parts) tried.set(part, found);
        tried.countsProcesses = await countsProcesses({ base, options, parts, scratch, round: round + 1 });
        break;
      }
      if (result.kind === "launcher") tried.obstacle = result.why;
      else if (result.isPassing && shortages++ < shortagesMax) await systemClock.sleep(shortagePauseMs);
      else for (const part of withDependents(result.parts)) tried.set(part, missing(base, part, result.why));
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  const why = tried.obstacle === null ? "it could not be tried" : `there is no launcher: ${tried.obstacle}`;
  for (const part of launcherParts) if (!tried.has(part)) tried.set(part, missing(base, part, why));
  return tried;
}

/** Only in a user namespace does the kernel count the processes of one job by themselves. */
async function countsProcesses(attempt: CageTrial): Promise<boolean> {
  if (attempt.base.rights.kind !== "user-namespace") return false;
  const rlimits = [{ resource: rlimit.NPROC, soft: pidsDefault, hard: pidsDefault }];
  return (await tryCage({ ...attempt, rlimits })).kind === "works";
}

/** It is recorded on every job that runs without the part. */
const whyCharsMax = 400;
const found: PartFinding = { had: true, why: "", advice: "" };
const launcherParts = [...(Object.keys(protectionBits) as PartName[]), "idmap" as const, "cgroup" as const];

/** If one of the parts that idmapped mounts need is missing, they are missing too. */
function withDependents(parts: readonly PartName[]): PartName[] {
  const needsIdmap = parts.some((part) => (idmapParts as readonly PartName[]).includes(part));
  return needsIdmap ? [...parts, "idmap"] : [...parts];
}

type LimitFacts = { base: HostFacts; cgroup: PartFinding; cgroups: DelegatedCgroup; options: ProbeOptions };

/** A limit belongs to a cgroup, so without one there is no limit either. */
function limitFinding(part: LimitPart, { base, cgroup, cgroups, options }: LimitFacts): PartFinding {
  if (!cgroup.had) return missing(base, part, cgroup.why);
  const { had, why } = cgroups.limits[part];
  if (!had) return missing(base, part, why ?? "");
  if (part !== "io" || base.disk !== null) return found;
  const advice = "set WRIT_WORK_DIR to a folder on a disk";
  return { had: false, why: diskOf(options.workDir).why ?? "", advice };
}

function missing(base: HostFacts, part: PartName, why: string): PartFinding {
  return { had: false, why: why.slice(0, whyCharsMax), advice: adviceFor(base, part) };
}

function adviceFor(base: HostFacts, part: PartName): string {
  const isLaunchers = protectionBits[part] !== undefined || part === "idmap";
  if (base.launcherObstacle !== null && isLaunchers) return `install gcc and ${buildAdvice}`;
  if (!isKernelNewEnough(base.kernel)) return `use Linux ${kernelMin.major}.${kernelMin.minor} or newer`;
  if (!base.isRoot)
    return isLaunchers
      ? userNamespaceAdvice(builtLauncherFile)
      : delegationAdvice[part === "io" ? "io" : "all"];
  if (part === "idmap")
    return "put what jobs write for its owner on a file system such as ext4, xfs or btrfs";
  if (isLaunchers) return "run the worker with the rights of root on the host, not those of a container";
  return "boot with systemd.unified_cgroup_hierarchy=1, and run the worker as a service of its own with Delegate=yes";
}

/** For a worker that is not root. */
const delegationAdvice = {
  all: "run the worker as a service of its own, to which systemd gives a cgroup: writ install worker --user",
  io: 'users get no I/O limits by default; as root, run systemctl edit user@.service and add "[Service]" and "Delegate=cpu memory pids io"',
} as const;

export function readRootEntries(): RootEntry[] {
  return readdirSync("/", { withFileTypes: true })
    .filter((entry) => isProgramDir(entry.name))
    .map(({ name }) => `/${name}`)
    .filter((path) => lstatSync(path).isSymbolicLink() || lstatSync(path).isDirectory())
    .map((path) => ({ path, linkTarget: lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null }))
    .sort((left, right) => (left.path < right.path ? -1 : 1));
}

function readOpenFilesMax(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const hard = Number(/^Max open files +\S+ +(\d+)/m.exec(limits)?.[1]);
    return Number.isSafeInteger(hard) ? hard : openFilesLeast;
  } catch {
    // Without /proc, the least that every Linux offers.
    return openFilesLeast;
  }
}

function freeBytesOn(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

/** The number that every Linux allows every user. */
const openFilesLeast = 4096;
