import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { stateDir } from "../paths.mjs";

export const cacheDir = join(stateDir, "kernel-vm");

/** One entry of a kind is in use at most times; a few older ones save time when branches are changed. */
const keptPerKind = 3;
/** Building an entry or booting from it never takes this long, so what is older belongs to no run. */
const abandonedMs = 2 * 60 * 60 * 1000;

/**
 * The folder `<kind>-<key>`, made by `build(folder)` when it is not there. It is built aside and renamed, so
 * two runs at once never see half of it: the second to finish throws its own away.
 */
export function cached(kind, key, build) {
  const place = join(cacheDir, `${kind}-${key}`);
  if (!existsSync(place)) {
    const fresh = makeWorkDir();
    try {
      build(fresh);
      renameSync(fresh, place);
    } catch (error) {
      rmSync(fresh, { recursive: true, force: true });
      if (!existsSync(place)) throw error;
    }
  }
  const now = new Date();
  utimesSync(place, now, now);
  return place;
}

/** A folder that belongs to this run alone, on the same file system as the cache. */
export function makeWorkDir() {
  mkdirSync(cacheDir, { recursive: true });
  return mkdtempSync(join(cacheDir, "run."));
}

/** The newest entry of a kind, or undefined. */
export function newestCached(kind) {
  return entries(`${kind}-`)[0]?.path;
}

/** Removes what killed runs left, and old entries. Only what is out of use for long, because others may run. */
export function pruneCache(kinds) {
  const surplus = kinds.flatMap((kind) => entries(`${kind}-`).slice(keptPerKind));
  for (const entry of [...surplus, ...entries("run.")]) {
    if (Date.now() - entry.usedMs > abandonedMs) rmSync(entry.path, { recursive: true, force: true });
  }
}

function entries(prefix) {
  if (!existsSync(cacheDir)) return [];
  const found = readdirSync(cacheDir).filter((name) => name.startsWith(prefix));
  return found
    .map((name) => ({
      path: join(cacheDir, name),
      stat: statSync(join(cacheDir, name), { throwIfNoEntry: false }),
    }))
    .filter((entry) => entry.stat !== undefined)
    .map((entry) => ({ path: entry.path, usedMs: entry.stat.mtimeMs }))
    .sort((a, b) => b.usedMs - a.usedMs);
}
