import { posix } from "node:path";
import type { RootEntry } from "./host/host-facts.ts";
import { type MountStep, mountFlag, mountKind } from "./launcher/launcher-protocol.ts";

export const workDirInCage = "/work";
export const tmpDir = "/tmp";
/** In every cage, with the text `null`: the input of a job that has none. Why: ADR 0148. */
export const noInputFile = "/etc/job-input.json";
const tmpBytesDefault = 256 * 1024 ** 2;

/** Names in the root directory that contain programs and libraries. Others may contain secrets and stay out. */
export function isProgramDir(name: string): boolean {
  return ["usr", "bin", "sbin", "opt"].includes(name) || /^lib[a-z0-9]*$/.test(name);
}

/** The files of /etc that programs need to resolve users, hosts and certificates. */
const etcNames = [
  "hosts",
  "resolv.conf",
  "nsswitch.conf",
  "ssl",
  "ca-certificates",
  "alternatives",
  "localtime",
  "ld.so.cache",
];
const passwd = "root:x:0:0:root:/:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/tmp:/usr/sbin/nologin\n";
const group = "root:x:0:\nnogroup:x:65534:\n";

/** Paths that the cage creates itself; the host's must not be mounted over them. */
export const cageDirs = ["/proc", "/dev", tmpDir, workDirInCage];

type MountInput = {
  rootEntries: readonly RootEntry[];
  visiblePaths: readonly string[];
  /** On the host. */
  workDir: string;
  memoryBytes: number | null;
  /** The mounts of this job only. They come last, so that they may be inside the others. */
  jobMounts: readonly MountStep[];
};

/** All mounts of a job, in order. */
export function cageMounts(input: MountInput): MountStep[] {
  const { rootEntries, visiblePaths, workDir, memoryBytes, jobMounts } = input;
  return [
    ...rootEntries.map(rootMount),
    { kind: mountKind.FILE, target: "/etc/passwd", mode: 0o644, source: passwd },
    { kind: mountKind.FILE, target: "/etc/group", mode: 0o644, source: group },
    { kind: mountKind.FILE, target: noInputFile, mode: 0o444, source: "null" },
    ...etcNames.map((name) => optional(`/etc/${name}`)),
    ...addedPaths(visiblePaths, rootEntries).map(optional),
    { kind: mountKind.DEV, target: "/dev" },
    { kind: mountKind.PROC, target: "/proc" },
    // Its files count as memory, so a job with little memory has little room there.
    { kind: mountKind.TMPFS, target: tmpDir, mode: 0o1777, sizeBytes: memoryBytes ?? tmpBytesDefault },
    { kind: mountKind.BIND_RW, target: workDirInCage, source: workDir },
    ...jobMounts,
  ];
}

/** Whether a process may start in a directory, which must be visible to it. */
export function isVisibleInCage(
  path: string,
  { rootEntries, visiblePaths, jobMounts }: Pick<MountInput, "rootEntries" | "visiblePaths" | "jobMounts">,
): boolean {
  const normal = posix.normalize(path);
  const shown = [...rootEntries.map((entry) => entry.path), ...jobMounts.map(({ target }) => target)];
  const places = [...shown, ...visiblePaths, tmpDir, workDirInCage];
  return places.some((place) => isBeneath(normal, place));
}

/** Why a path cannot be shown to jobs; null if it can. */
export function visiblePathProblem(path: string): string | null {
  if (!path.startsWith("/")) return "it must be an absolute path";
  if (posix.normalize(path).replace(/(?<=.)\/$/, "") !== path)
    return "it must be written without . and .. and //";
  if (path === "/") return "the whole host cannot be shown";
  const taken = [...cageDirs, "/sys"].find((dir) => isBeneath(path, dir) || isBeneath(dir, path));
  return taken === undefined ? null : `${taken} is reserved for the cage`;
}

/** A path inside a visible directory needs no mount of its own, and has no mount point for one. */
function addedPaths(visiblePaths: readonly string[], rootEntries: readonly RootEntry[]): string[] {
  const shown = rootEntries.map((entry) => entry.path);
  const added: string[] = [];
  // Outer ones first, so that they are known when the inner ones are added.
  for (const path of [...visiblePaths].sort((left, right) => left.length - right.length)) {
    if (![...shown, ...added].some((place) => isBeneath(path, place))) added.push(path);
  }
  return added;
}

/** On hosts with everything in /usr, /bin and its like are links; they stay links. */
function rootMount({ path, linkTarget }: RootEntry): MountStep {
  return linkTarget === null
    ? { kind: mountKind.BIND_RO, target: path, source: path }
    : { kind: mountKind.SYMLINK, target: path, source: linkTarget };
}

function optional(path: string): MountStep {
  return { kind: mountKind.BIND_RO, target: path, source: path, flags: mountFlag.SKIP_MISSING };
}

export function isBeneath(path: string, dir: string): boolean {
  return path === dir || path.startsWith(`${dir}/`);
}
