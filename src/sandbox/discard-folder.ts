import { chmod, mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, hasCode } from "../core/errors.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { WakeUp } from "../runtime/clock/wake-up.ts";
import type { Logger } from "../runtime/log/logger.ts";
import { emptyDirectory, type LeftEntry } from "./empty-directory.ts";

type DiscardDeps = { clock: Clock; logger: Logger; launcherFile?: string };

/** One removal serves all jobs that end within this time: each costs a process, whose start delays other starts. */
const gatherMs = 1_000;
const gatheredMax = 64;
/** Beyond this many, a further discard waits, so that jobs cannot fill a disk faster than it is emptied. */
const waitingMax = 256;
/** The longest time that a discard waits for earlier ones. */
const waitMs = 10_000;

/**
 * The folder for directories of ended jobs. A discard is a single rename; the removal follows in the background.
 * Directories that cannot be removed are moved aside, into `unremovable`, and reported; the next start tries them
 * again. No tree of any kind makes a job wait or a start fail. Why: ADR 0027.
 */
export class DiscardFolder {
  readonly #deps: DiscardDeps;
  readonly #discardedDir: string;
  readonly #unremovableDir: string;
  readonly #closing = new AbortController();
  readonly #enough = new WakeUp();
  #rounds: Promise<void> = Promise.resolve();
  #isRoundPlanned = false;
  #count = 0;
  #waiting = 0;

  /** Opens the folder, and tries again to remove directories that an earlier process has left. */
  static async open(deps: DiscardDeps, parentDir: string): Promise<DiscardFolder> {
    const folder = new DiscardFolder(deps, parentDir);
    for (const dir of [folder.#discardedDir, folder.#unremovableDir]) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
    }
    await folder.discardAllIn(folder.#unremovableDir);
    void folder.#planRound();
    return folder;
  }

  private constructor(deps: DiscardDeps, parentDir: string) {
    this.#deps = deps;
    this.#discardedDir = join(parentDir, "discarded");
    this.#unremovableDir = join(parentDir, "unremovable");
  }

  /** Discards a directory; `name` tells people where it came from. A missing one is no error. Never rejects. */
  async discard(dir: string, name: string): Promise<void> {
    const target = join(this.#discardedDir, `${name}-${this.#deps.clock.nowMs()}-${this.#count++}`);
    try {
      await moveAway(dir, target);
    } catch (error) {
      const code = codeOf(error);
      if (code !== "ENOENT")
        this.#deps.logger.error({ dir, code }, "a directory of a job cannot be moved away");
      return;
    }
    this.#waiting++;
    if (this.#waiting >= gatheredMax) this.#enough.wake();
    const round = this.#planRound();
    if (this.#waiting > waitingMax) await this.#waitFor(round);
  }

  async discardAllIn(dir: string): Promise<void> {
    // A directory that does not exist, or cannot be read, has nothing to discard.
    for (const name of await readdir(dir).catch(() => [])) {
      // Without this, the suffix of each discard would be added to the last one.
      await this.discard(join(dir, name), name.replace(/-\d+-\d+(~.*)?$/, ""));
    }
  }

  /** Directories that are not removed yet wait for the next start. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#rounds;
  }

  /** Resolves when everything that was discarded before the call has been tried. */
  #planRound(): Promise<void> {
    if (this.#isRoundPlanned) return this.#rounds;
    this.#isRoundPlanned = true;
    this.#rounds = this.#rounds.then(() => this.#round());
    return this.#rounds;
  }

  async #round(): Promise<void> {
    const { signal } = this.#closing;
    await this.#enough.wait({ signal, timeout: { clock: this.#deps.clock, ms: gatherMs } });
    this.#isRoundPlanned = false;
    this.#waiting = 0;
    if (signal.aborted) return;
    const { launcherFile } = this.#deps;
    const left = await emptyDirectory(this.#discardedDir, { launcherFile, signal });
    if (signal.aborted) return;
    // A directory that was added during the removal was not tried, and gets a round of its own.
    for (const entry of left) if (entry.code !== "EAGAIN") await this.#moveAside(entry);
  }

  async #moveAside({ name, code }: LeftEntry): Promise<void> {
    const dir = join(this.#unremovableDir, name);
    try {
      await rename(join(this.#discardedDir, name), dir);
      this.#deps.logger.error({ dir, code }, "what a job left behind cannot be removed; it was moved aside");
    } catch (error) {
      this.#deps.logger.error(
        { dir: join(this.#discardedDir, name), code: codeOf(error) },
        "what a job left behind can neither be removed nor moved aside",
      );
    }
  }

  async #waitFor(round: Promise<void>): Promise<void> {
    const enough = new AbortController();
    // The end of the round ends this wait.
    await Promise.race([round, this.#deps.clock.sleep(waitMs, enough.signal).catch(() => {})]);
    enough.abort();
  }
}

/** Without root, a directory of a job can be moved only while its mode lets its owner write, and the job may have changed that. */
async function moveAway(dir: string, target: string): Promise<void> {
  try {
    await rename(dir, target);
  } catch (error) {
    if (!hasCode(error, "EACCES")) throw error;
    await chmod(dir, 0o700);
    await rename(dir, target);
  }
}
