import { join } from "node:path";
import { isPathIn } from "../../../core/path-rules.ts";
import type { Clock } from "../../../runtime/clock/clock.ts";

/** Absolute paths, and what resolves when their user has left them as they stay. */
type Use = { paths: readonly string[]; over: Promise<void> };

/**
 * The paths in which agents of this worker work in place. What an agent changed may have to be put back, and what changed
 * in the same paths meanwhile would go with it, so agents whose paths overlap work one after the other.
 * Why: ADR 0066, ADR 0102.
 */
export class Repositories {
  readonly #clock: Clock;
  /** In the order in which they came. */
  readonly #uses = new Set<Use>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits, for at most `waitMs`, until everybody who came before has left these paths of a repository, and returns what
   * gives them free; null if that took too long or the signal was aborted. An empty path is the whole repository.
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
    const late = this.#clock.sleep(waitMs, AbortSignal.any([signal, isFree.signal])).catch(() => {});
    await Promise.race([others, late]);
    return isFree.signal.aborted && !signal.aborted;
  }
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => isPathIn(one, other) || isPathIn(other, one)));
}
