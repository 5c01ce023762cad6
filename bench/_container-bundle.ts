import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cageMounts } from "../src/sandbox/cage-mounts.ts";
import type { RootEntry } from "../src/sandbox/host/host-facts.ts";
import { cageIds } from "../src/sandbox/launch-plan.ts";
import { type MountStep, mountKind } from "../src/sandbox/launcher/launcher-protocol.ts";

/** What a bundle asks a container runtime for: all that a Writ cage gives, or the bare minimum of a container. */
export type BundleKind = "same cage" | "bare";

type OciMount = { destination: string; type: string; source: string; options: string[] };

const rulesFile = join(import.meta.dirname, "../launcher/rights/seccomp-rules.h");

/** Lays out a bundle that runs /bin/true, ready for `runc run --bundle`. */
export function makeBundle(dir: string, kind: BundleKind, rootEntries: readonly RootEntry[]): void {
  const workDir = join(dir, "work");
  for (const folder of ["rootfs", "work"]) mkdirSync(join(dir, folder), { recursive: true });
  const steps = cageMounts({ rootEntries, visiblePaths: [], workDir, memoryBytes: null, jobMounts: [] });
  const wanted = kind === "same cage" ? steps : steps.filter(isBare);
  const mounts = wanted.flatMap((step) => layStep(join(dir, "rootfs"), step));
  const config = kind === "same cage" ? sameCage(mounts) : bareConfig(mounts);
  writeFileSync(join(dir, "config.json"), JSON.stringify(config));
}

/** What any container has: the system's programs, /proc, /dev and /tmp. */
function isBare({ kind, target }: MountStep): boolean {
  return kind !== mountKind.FILE && kind !== mountKind.BIND_RW && !target.startsWith("/etc/");
}

/** Makes what a step needs in the root directory, and gives the mount that the runtime has to do for it. */
function layStep(root: string, step: MountStep): OciMount[] {
  const { kind, target, source = "" } = step;
  const place = join(root, target);
  mkdirSync(dirname(place), { recursive: true });
  const mount = (type: string, from: string, ...options: string[]): OciMount[] => [
    { destination: target, type, source: from, options },
  ];
  switch (kind) {
    case mountKind.SYMLINK:
      symlinkSync(source, place);
      return [];
    case mountKind.FILE:
      writeFileSync(place, source);
      return [];
    case mountKind.PROC:
      return mount("proc", "proc", "nosuid", "nodev", "noexec", "ro");
    case mountKind.DEV:
      return mount("tmpfs", "tmpfs", "nosuid");
    case mountKind.TMPFS:
      return mount("tmpfs", "tmpfs", "nosuid", "nodev", `size=${step.sizeBytes}`);
    case mountKind.BIND_RW:
      return mount("bind", source, "rbind", "nosuid", "nodev");
    default:
      if (!existsSync(source)) return [];
      if (statSync(source).isDirectory()) mkdirSync(place, { recursive: true });
      else writeFileSync(place, "");
      return mount("bind", source, "rbind", "ro", "nosuid", "nodev");
  }
}

function bareConfig(mounts: OciMount[]) {
  return {
    ociVersion: "1.0.2",
    process: {
      terminal: false,
      user: cageIds,
      args: ["/bin/true"],
      env: ["PATH=/usr/bin:/bin", "HOME=/tmp"],
      cwd: "/",
      noNewPrivileges: true,
    },
    root: { path: "rootfs", readonly: true },
    mounts,
    linux: { namespaces: ["pid", "ipc", "uts", "mount"].map((type) => ({ type })) },
  };
}

function sameCage(mounts: OciMount[]) {
  const bare = bareConfig(mounts);
  const noCapabilities = ["bounding", "effective", "inheritable", "permitted", "ambient"].map((set) => [
    set,
    [],
  ]);
  return {
    ...bare,
    hostname: "writ-job",
    process: {
      ...bare.process,
      cwd: "/work",
      capabilities: Object.fromEntries(noCapabilities),
      rlimits: [
        { type: "RLIMIT_CORE", soft: 0, hard: 0 },
        { type: "RLIMIT_NOFILE", soft: 1024, hard: 4096 },
      ],
    },
    linux: {
      namespaces: [...bare.linux.namespaces, { type: "cgroup" }],
      maskedPaths: ["/proc/keys", "/proc/key-users"],
      seccomp: {
        defaultAction: "SCMP_ACT_ALLOW",
        syscalls: [{ names: deniedCalls(), action: "SCMP_ACT_ERRNO" }],
      },
    },
  };
}

/** The calls that the launcher's filter always refuses, by the names that its table gives them. */
function deniedCalls(): string[] {
  const rules = readFileSync(rulesFile, "utf8").matchAll(
    /\{(?:SYS_(\w+)|\d+ \/\* (\w+) \*\/), \w+, CHECK_NONE\}/g,
  );
  return [...rules].map(([, named, numbered]) => named ?? numbered!);
}
