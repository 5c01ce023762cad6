import { lstat, readdir, rm, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { isTemporaryFile } from "../../runtime/files/private-file.ts";
import type { Logger } from "../../runtime/log/logger.ts";

type EntriesDeps = { dir: string; bytesMax: number; clock: Clock; logger: Logger };
type Entry = { sizeBytes: number; usedAtMs: number; users: number };

/**
 * The files of the cache, `<tenant>/<sha256>`, with their sizes and when they were last used. The time is also that of the
 * file, so that a later process knows it.
 */
export class CacheEntries {
  readonly #deps: EntriesDeps;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: EntriesDeps) {
    this.#deps = deps;
  }

  /** Reads the files of an earlier process, and removes unfinished ones. */
  async load(): Promise<void> {
    const found = await readdir(this.#deps.dir, { withFileTypes: true, recursive: true });
    for (const { name, parentPath } of found) {
      const path = join(parentPath, name);
      if (isTemporaryFile(name)) await rm(path, { force: true });
      else if (this.#isEntry(path)) await this.#learn(path);
    }
    await this.#makeRoom();
  }

  pathOf(tenantId: string, sha256: string): string {
    return join(this.#deps.dir, tenantId, sha256);
  }

  async add(path: string, sizeBytes: number): Promise<void> {
    this.#entries.set(path, { sizeBytes, usedAtMs: this.#deps.clock.nowMs(), users: 0 });
    await this.#makeRoom(path);
  }

  /** The entry is not removed to make room while it is used. */
  async use<T>(path: string, work: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(path);
    if (entry === undefined) return work();
    entry.users++;
    entry.usedAtMs = this.#deps.clock.nowMs();
    try {
      const seconds = entry.usedAtMs / 1000;
      // Without it, only the order of removal after a restart is less exact.
      await utimes(path, seconds, seconds).catch(() => {});
      return await work();
    } finally {
      entry.users--;
    }
  }

  async remove(path: string): Promise<void> {
    this.#entries.delete(path);
    await rm(path, { recursive: true, force: true });
  }

  async #learn(path: string): Promise<void> {
    const { size, mtimeMs } = await lstat(path);
    this.#entries.set(path, { sizeBytes: size, usedAtMs: mtimeMs, users: 0 });
  }

  #isEntry(path: string): boolean {
    return /^[0-9a-f]{64}$/.test(basename(path)) && dirname(dirname(path)) === this.#deps.dir;
  }

  /** Removes the least recently used files until the rest fits, except those in use and the one that was just added. */
  async #makeRoom(added?: string): Promise<void> {
    const { bytesMax, logger } = this.#deps;
    const oldestFirst = [...this.#entries].sort(([, left], [, right]) => left.usedAtMs - right.usedAtMs);
    let totalBytes = oldestFirst.reduce((sum, [, { sizeBytes }]) => sum + sizeBytes, 0);
    for (const [path, { sizeBytes, users }] of oldestFirst) {
      if (totalBytes <= bytesMax) return;
      if (users > 0 || path === added) continue;
      try {
        await this.remove(path);
        totalBytes -= sizeBytes;
      } catch (error) {
        logger.warn({ path, code: codeOf(error) }, "a solver cannot be removed from the cache");
      }
    }
  }
}
