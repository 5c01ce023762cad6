import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../core/errors.ts";

/** The whole disk that contains a directory, in the form of io.max, or why there is none. */
type DiskOf = { device: string; why: null } | { device: null; why: string };

/** io.max accepts only whole disks: a partition is refused, and so is a file system without a disk of its own. */
export function diskOf(dir: string, sysDir = "/sys"): DiskOf {
  const { major, minor } = numbersOf(statSync(dir).dev);
  if (major === 0)
    return { device: null, why: `${dir} is not on a disk of its own (overlay, tmpfs or btrfs)` };
  const block = join(sysDir, "dev/block", `${major}:${minor}`);
  try {
    // The directory above that of a partition is its disk's; the kernel's links lead through both.
    const disk = exists(`${block}/partition`) ? `${block}/..` : block;
    return { device: readFileSync(`${disk}/dev`, "utf8").trim(), why: null };
  } catch (error) {
    return { device: null, why: `${block} cannot be read: ${codeOf(error)}` };
  }
}

/** As glibc splits a device number. */
export function numbersOf(dev: number): { major: number; minor: number } {
  const bits = BigInt(dev);
  return {
    major: Number(((bits >> 8n) & 0xfffn) | ((bits >> 32n) & 0xfffff000n)),
    minor: Number((bits & 0xffn) | ((bits >> 12n) & 0xffffff00n)),
  };
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
