import { join } from "node:path";
import { isPathIn } from "../../../core/path-rules.ts";
import type { Clock } from "../../../runtime/clock/clock.ts";

/** Absolute paths, and a promise that resolves when their user has finished with them. */
type Use = { paths: readonly string[]; over: Promise<void> };

/**
 * The paths in which agents of this worker work in place. An agent's changes may have to be put back, and other changes
 * in the same paths would be lost with them, so agents with overlapping paths work one after the other. Why: ADR 0066,
 * ADR 0102.
 */
export class Repositories {
  readonly #clock: Clock;
  /** In order of arrival. */
  readonly #uses = new Set<Use>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits, for at most `waitMs`, until all earlier users have left these paths of a repository, and returns a function
   * that releases them; null if that took too long or the signal was aborted. An empty path is the whole repository.
   */
  async take(
    root: string,
    paths: readonly string[],
    { waitMs, signal }: { waitMs: number; signal: AbortSignal },
  ): Promise<(() => void) | null> {
    const own = paths.map((path) => join(root, path));
    const earlier = [...this.#uses].filter((other) => overlap(own, other.paths));
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const use = { paths: own, over };
    this.#uses.add(use);
    const free = (): void => {
      this.#uses.delete(use);
      resolve();
    };
    if (earlier.length === 0 || (await this.#areOver(earlier, waitMs, signal))) return free;
    free();
    return null;
  }

  async #areOver(uses: readonly Use[], waitMs: number, signal: AbortSignal): Promise<boolean> {
    const isFree = new AbortController();
    const others = Promise.all(uses.map(({ over }) => over)).then(() => isFree.abort());
    // The end of the others, or the signal, ends this wait.
    const late = this.#clock.sleep(waitMs, AbortSignal.any([signal, isFree.signal])).catch(() => {});
    await Promise.race([others, late]);
    return isFree.signal.aborted && !signal.aborted;
  }
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => isPathIn(one, other) || isPathIn(other, one)));
}
