import { mkdir, readdir, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { syncDir } from "./sync-dir.ts";

/**
 * The folder of one upload. Each request that brings bytes writes a file of its own in it, which is called a part until it
 * is complete. A part is never the file that the row names, so it may be removed at any time.
 */
const partEnding = ".part";

export function partName(name: string): string {
  return `${name}${partEnding}`;
}

type Part = { name: string; size: number };

/** What has arrived incompletely, also what is arriving now. */
export async function listParts(folder: string): Promise<Part[]> {
  const parts: Part[] = [];
  for (const entry of await listNames(folder)) {
    if (!entry.endsWith(partEnding)) continue;
    const size = await sizeOf(join(folder, entry));
    if (size !== null) parts.push({ name: entry.slice(0, -partEnding.length), size });
  }
  return parts;
}

export function largestPart(parts: Part[]): number {
  return Math.max(0, ...parts.map(({ size }) => size));
}

/** The names of everything in the folder, without the ending of parts. */
export async function listArrived(folder: string): Promise<{ entry: string; name: string }[]> {
  const entries = await listNames(folder);
  return entries.map((entry) => ({
    entry,
    name: entry.endsWith(partEnding) ? entry.slice(0, -partEnding.length) : entry,
  }));
}

/** Null if there is no such file. */
export async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}

export async function makeUploadFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, "EEXIST")) return makeRoom(folder);
    if (!hasCode(error, "ENOENT")) throw error;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // The folders above: those of the two digits, the storage folder, the tenant, and the root.
    for (let dir = dirname(dirname(folder)), level = 0; level < 3; dir = dirname(dir), level++)
      await syncDir(dir);
  }
  await syncDir(dirname(folder));
}

/** Version 0.1 wrote an upload that has not ended to a file in the place of its folder. It begins again. */
async function makeRoom(folder: string): Promise<void> {
  if ((await stat(folder)).isDirectory()) return;
  await rm(folder, { force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await syncDir(dirname(folder));
}

/** Removes a folder with the files in it, and nothing deeper: nothing of ours is. Or a file of version 0.1. */
export async function removeUpload(folder: string): Promise<void> {
  for (const entry of await listNames(folder)) await rm(join(folder, entry), { force: true });
  try {
    await rmdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOTDIR")) await rm(folder, { force: true });
    else if (!hasCode(error, "ENOENT")) throw error;
  }
}

async function listNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
