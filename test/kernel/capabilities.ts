import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cgroupRoot } from "./cgroup.ts";
import { findScratchDevice, makeScratchFolder } from "./scratch-disk.ts";

/** A thing that the kernel can do here, or what stands in its way. */
export type Capability = { name: string; obstacle: string | null };

const controllers = ["cpu", "memory", "io", "pids"];
const limitFiles = [
  "cpu.max",
  "memory.max",
  "memory.swap.max",
  "memory.oom.group",
  "memory.peak",
  "io.max",
  "pids.max",
  "cgroup.kill",
];
const probe = fileURLToPath(new URL("../../node_modules/.writ/kernel-probes/features", import.meta.url));

let found: Capability[] | undefined;

/** Everything that the tests of the cage stand on, tried once on the kernel that runs this. */
export function findCapabilities(): Capability[] {
  found ??= [...findControllers(), ...withChild(tryInside), findSwap(), findDisk()];
  return found;
}

/**
 * For the `skip` of a test: what is lacking, or false when all is there.
 *
 *     test("a hog is stopped", { skip: lacks("memory.max", "swap") }, async (t) => …);
 */
export function lacks(...names: string[]): string | false {
  for (const name of names) {
    const capability = findCapabilities().find((candidate) => candidate.name === name);
    if (capability === undefined) throw new Error(`no capability is called ${name}`);
    if (capability.obstacle !== null) return `not capable: ${name} (${capability.obstacle})`;
  }
  return false;
}

function findControllers(): Capability[] {
  const file = join(cgroupRoot, "cgroup.controllers");
  const offered = existsSync(file) ? readFileSync(file, "utf8").trim().split(" ") : [];
  return controllers.map((name) => ({
    name: `cgroup v2 controller ${name}`,
    obstacle: offered.includes(name) ? null : `not in ${file}`,
  }));
}

function withChild(look: (cgroup: string) => Capability[]): Capability[] {
  const cgroup = join(cgroupRoot, `writ-kernel-test-capabilities-${process.pid}`);
  // Without one, everything below is found to be missing by its own name.
  if (existsSync(join(cgroupRoot, "cgroup.controllers"))) mkdirSync(cgroup);
  try {
    return look(cgroup);
  } finally {
    if (existsSync(cgroup)) rmdirSync(cgroup);
  }
}

function tryInside(cgroup: string): Capability[] {
  const files = limitFiles.map((name) => ({
    name,
    obstacle: existsSync(join(cgroup, name)) ? null : "no such file in a child cgroup",
  }));
  return [...files, ...tryFeatures(cgroup)];
}

const featureNames = [
  "clone3 into a cgroup",
  "namespaces",
  "user namespaces",
  "openat2",
  "mount_setattr",
  "idmapped mounts",
  "seccomp filter",
  "pidfd",
  "close_range",
  "Landlock",
];

function tryFeatures(cgroup: string): Capability[] {
  if (!existsSync(probe)) {
    return featureNames.map((name) => ({ name, obstacle: "not tried, the probe in C was not built" }));
  }
  const folder = makeScratchFolder();
  try {
    const { stdout } = spawnSync(probe, [cgroup, folder.path], { encoding: "utf8", timeout: 60_000 });
    const verdicts = new Map(stdout.split("\n").map((line) => line.split("\t") as [string, string]));
    return featureNames.map((name) => {
      const verdict = verdicts.get(name) ?? "the probe did not get that far";
      return { name, obstacle: verdict === "ok" ? null : verdict };
    });
  } finally {
    folder.remove();
  }
}

function findSwap(): Capability {
  const swaps = readFileSync("/proc/swaps", "utf8").trim().split("\n").slice(1);
  return { name: "swap", obstacle: swaps.length > 0 ? null : "no swap is on" };
}

function findDisk(): Capability {
  const obstacle = findScratchDevice() === null ? "the scratch folder is not on a disk of its own" : null;
  return { name: "whole disk for io.max", obstacle };
}
