import type { CageRights } from "../cage-rights.ts";
import { type LimitPart, limitParts } from "../cgroup/cgroup-limits.ts";
import { protect } from "../launcher/launcher-protocol.ts";

/** The parts of a cage, in the order of checking. Their names are recorded on jobs. */
export const protectionParts = [
  "cgroup",
  "namespaces",
  "jail",
  "user",
  "capabilities",
  "no_new_privs",
  "seccomp",
] as const;

/** `network` and `idmap` apply only to jobs that need them: those without a network, and those with idmapped mounts. */
export type PartName = (typeof protectionParts)[number] | "network" | "idmap" | LimitPart;

export const partNames: readonly PartName[] = [...protectionParts, "network", "idmap", ...limitParts];

/** A job with idmapped mounts acts as a user of the host, so none of these may be missing. */
export const idmapParts = ["jail", "user", "capabilities", "no_new_privs", "seccomp", "idmap"] as const;

/** The bits of a plan for each part. The cgroup and the limits are not the launcher's. */
export const protectionBits: Partial<Record<PartName, number>> = {
  namespaces: protect.PID_NS | protect.IPC_NS | protect.UTS_NS | protect.CGROUP_NS,
  jail: protect.MOUNT_NS,
  user: protect.IDS,
  capabilities: protect.CAPABILITIES,
  no_new_privs: protect.NO_NEW_PRIVS,
  seccomp: protect.SECCOMP,
  network: protect.NET_NS,
};

export type PartFinding = {
  had: boolean;
  /** Why it is missing; empty if it is not. */
  why: string;
  /** How to fix it. */
  advice: string;
};

/** One name in the host's root directory that jobs see. */
export type RootEntry = { path: string; linkTarget: string | null };

/** The facts about a host that are known before a job is started on it. */
export type HostFacts = {
  parts: Readonly<Record<PartName, PartFinding>>;
  /** Why processes can only be started without a cage; null if there is a launcher. */
  launcherObstacle: string | null;
  /** The rights with which cages are built here. */
  rights: CageRights;
  isRoot: boolean;
  /** Whether RLIMIT_NPROC counts the processes of one job, and not all processes of its user. */
  countsProcesses: boolean;
  kernel: string;
  rootEntries: readonly RootEntry[];
  /** The worker's own limit; not even root can always raise it. */
  openFilesMax: number;
  /** The directory of the jobs' cgroups; null if they get none. */
  jobsDir: string | null;
  /** Those that the kernel can count and limit below `jobsDir`, whether or not there is a disk for io. */
  controllers: readonly LimitPart[];
  /** The whole disk that contains the work dir, in the form of io.max. */
  disk: string | null;
  /** The present free space on the disk of the work dir. */
  diskFreeBytes(): number;
};

export const kernelMin = { major: 5, minor: 14 } as const;

/** cgroup.kill and mount_setattr exist since this version. */
export function isKernelNewEnough(release: string): boolean {
  const [major = 0, minor = 0] = release.split(/[.-]/).map(Number);
  return major > kernelMin.major || (major === kernelMin.major && minor >= kernelMin.minor);
}
