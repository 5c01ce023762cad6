import { existsSync, type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { codeOf, hasCode, WritError } from "../../core/errors.ts";
import { shortPath } from "./output-path.ts";

/**
 * Calls `onChange` when a file may have grown. While the file does not exist yet, the nearest existing directory above
 * it is watched for the next part of the path.
 */
export class GrowthWatch {
  readonly #path: string;
  readonly #onChange: () => void;
  #watched: { path: string; watcher: FSWatcher } | undefined;
  #failure: Error | undefined;

  constructor(path: string, onChange: () => void) {
    this.#path = path;
    this.#onChange = onChange;
  }

  /**
   * Watches as deep as the path exists by now. Every change after this returns calls `onChange`, so look at the file
   * after it, never before. Returns true if the file itself is watched.
   */
  arm(): boolean {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#watched?.path === this.#path) return true;
    // Each turn means that one more directory of the path was just created or removed.
    for (let turn = 0; turn < armTurnsMax; turn++) {
      const missing = this.#watchDeepest();
      if (missing === undefined) return true;
      if (!existsSync(missing)) return false;
    }
    throw new WritError(
      "OUTPUT_UNAVAILABLE",
      `the directories of output ${shortPath(this.#path)} keep changing`,
    );
  }

  close(): void {
    this.#watched?.watcher.close();
    this.#watched = undefined;
  }

  /** Returns the next missing part of the path, or undefined if the file itself is watched. */
  #watchDeepest(): string | undefined {
    let missing: string | undefined;
    // Ends at the root directory at the latest, which can always be watched or throws.
    for (let path = this.#path; ; missing = path, path = dirname(path)) {
      if (path === this.#watched?.path) return missing;
      const watcher = this.#tryWatch(path, missing);
      if (watcher === undefined) continue;
      // The new watch is active before the old one is closed, so there is no gap.
      this.close();
      this.#watched = { path, watcher };
      return missing;
    }
  }

  #tryWatch(path: string, missing: string | undefined): FSWatcher | undefined {
    const awaited = missing === undefined ? undefined : basename(missing);
    const own = basename(path);
    try {
      const watcher = watch(path, (event, name) => {
        // Directories of other jobs are created and removed beside ours. Only the awaited name matters, and the watched
        // directory's own name, which means that it was removed or moved, and the watch with it.
        if (event === "rename" && name === own) this.#drop(watcher);
        if (awaited === undefined || name === null || name === awaited || name === own) this.#onChange();
      });
      watcher.on("error", (error) => {
        this.#failure = error;
        this.#onChange();
      });
      return watcher;
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR") && path !== dirname(path)) return undefined;
      throw watchRefused(this.#path, codeOf(error));
    }
  }

  #drop(watcher: FSWatcher): void {
    watcher.close();
    if (this.#watched?.watcher === watcher) this.#watched = undefined;
  }
}

// Far more than the directories of any path.
const armTurnsMax = 64;

function watchRefused(path: string, code: string): WritError {
  const advice = code === "ENOSPC" ? "; raise fs.inotify.max_user_watches" : "";
  return new WritError(
    "OUTPUT_UNAVAILABLE",
    `output ${shortPath(path)} cannot be watched: ${code}${advice}`,
    { reason: code },
  );
}
