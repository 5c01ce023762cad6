import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PlannedHome } from "../launcher/launcher-protocol.ts";

/**
 * Creates a job's home as the launcher does it, synchronously: a few calls that take microseconds cost less than a
 * thread.
 */
export function makeHome({ path, entries }: PlannedHome): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const entry of entries) {
    const place = join(path, entry.path);
    if (entry.content === undefined) mkdirSync(place, { recursive: true, mode: 0o700 });
    else writeFileSync(place, entry.content, { mode: 0o600 });
  }
}
