import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../core/errors.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { WakeUp } from "../runtime/clock/wake-up.ts";
import type { Logger } from "../runtime/log/logger.ts";
import { emptyDirectory, type LeftEntry } from "./empty-directory.ts";

type DiscardDeps = { clock: Clock; logger: Logger; launcherFile?: string };

/** One removal serves all jobs that end within this time, or so many: each costs a process, whose start holds up all. */
const gatherMs = 1_000;
const gatheredMax = 64;
/** Beyond this many, whoever discards one more waits, so that jobs cannot fill a disk faster than it is emptied. */
const waitingMax = 256;
/** A slot is not kept longer than this by what earlier jobs have left. */
const waitMs = 10_000;

/**
 * Where the directories of ended jobs go. To discard one takes a single rename; it is removed behind everybody's back.
 * What cannot be removed is moved aside, into `unremovable`, and reported; the next start tries it again. No tree, however
 * it was made, makes a job wait or a start fail. Why: ADR 0027.
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

  /** Tries again what an earlier process could not remove, or had no time for. */
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

  /** Takes a directory away; `name` tells people where it came from. One that is not there is no error. Never rejects. */
  async discard(dir: string, name: string): Promise<void> {
    const target = join(this.#discardedDir, `${name}-${this.#deps.clock.nowMs()}-${this.#count++}`);
    try {
      await rename(dir, target);
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
      // The suffix that it has from its last time here would make it longer each time.
      await this.discard(join(dir, name), name.replace(/-\d+-\d+(~.*)?$/, ""));
    }
  }

  /** What is not yet removed waits for the next start. */
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
    // What came in the middle of the removal has no reason to be left, and a round of its own ahead.
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
