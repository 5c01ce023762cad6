import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where tests write to a disk: in the machine a disk of its own, on a host the folder for temporary files. */
export const scratchDir = process.env["KERNEL_TEST_SCRATCH"] ?? tmpdir();

/** A fresh folder there, and the act that removes it. */
export function makeScratchFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(scratchDir, "writ-kernel-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** The "major:minor" that io.max takes for the disk under the scratch folder, or null when that has no disk. */
export function findScratchDevice(): string | null {
  const { dev } = statSync(scratchDir);
  const major = ((dev >> 8) & 0xfff) >>> 0;
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00);
  const block = `/sys/dev/block/${major}:${minor}`;
  if (!existsSync(block)) return null;
  // io.max knows whole disks only; the parent of a partition is its disk.
  const disk = existsSync(`${block}/partition`) ? `${block}/..` : block;
  return readFileSync(`${disk}/dev`, "utf8").trim();
}
