import { existsSync, type StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { codeOf } from "../../../core/errors.ts";
import { formatBytes } from "../../../core/text/format-bytes.ts";
import type { Finding } from "./doctor.ts";

type Room = Pick<StatsFs, "bavail" | "bsize" | "files" | "ffree">;

/** Below this, the next commit may fail. */
const fullBytes = 16 * 1024 ** 2;
/** Enough for a while, so there is time to make room. */
const nearlyFullBytes = 512 * 1024 ** 2;

/** Whether the disk of the home has room for what the hub writes. */
export async function examineDisk(home: string): Promise<Finding[]> {
  if (!existsSync(home)) return [];
  try {
    return [judgeDisk(home, await statfs(home))];
  } catch (error) {
    return [{ check: "disk", state: "problem", says: `${home} cannot be read (${codeOf(error)})` }];
  }
}

export function judgeDisk(home: string, { bavail, bsize, files, ffree }: Room): Finding {
  const freeBytes = bavail * bsize;
  const advice = "make room, or the hub cannot accept or finish jobs";
  // Some file systems count no files.
  if (files > 0 && ffree === 0)
    return { check: "disk", state: "problem", says: `the disk of ${home} can hold no more files; ${advice}` };
  const free = `${formatBytes(freeBytes)} free`;
  if (freeBytes < fullBytes)
    return { check: "disk", state: "problem", says: `the disk of ${home} is full (${free}); ${advice}` };
  if (freeBytes < nearlyFullBytes)
    return {
      check: "disk",
      state: "warning",
      says: `the disk of ${home} is nearly full (${free}); make room soon`,
    };
  return { check: "disk", state: "ok", says: `${free} for ${home}` };
}
