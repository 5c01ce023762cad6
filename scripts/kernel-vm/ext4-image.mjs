import { lstatSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "./run-command.mjs";

const mebibyte = 1024 * 1024;

/** Writes the tree into a read-only image. mke2fs needs no privilege for that, and no mount. */
export function makeTreeImage(mke2fs, tree, file) {
  const { bytes, entries } = measure(tree);
  // Each file is rounded up to a block; the rest is room for the file system's own tables.
  const sizeMiB = Math.ceil((bytes + entries * 4096) / mebibyte) + 16;
  const flags = ["-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-E", "root_owner=0:0"];
  runCommand(mke2fs, [...flags, "-N", String(entries + 1024), "-d", tree, file, `${sizeMiB}M`]);
}

/** An empty disk without partitions, because io.max takes whole disks only. */
export function makeEmptyImage(mke2fs, file, sizeMiB) {
  makeSparseFile(file, sizeMiB);
  runCommand(mke2fs, ["-q", "-F", "-t", "ext4", "-m", "0", "-E", "root_owner=0:0", file]);
}

export function makeSparseFile(file, sizeMiB) {
  writeFileSync(file, "");
  truncateSync(file, sizeMiB * mebibyte);
}

function measure(tree) {
  const stats = readdirSync(tree, { recursive: true }).map((path) => lstatSync(join(tree, path)));
  const bytes = stats.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
  return { bytes, entries: stats.length };
}
