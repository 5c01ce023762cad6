import type { Clock } from "./clock.ts";

/** Two clocks that are read one after the other differ a little; a difference below this is not a jump. */
const toleranceMs = 1_000;

/**
 * A clock whose `nowMs()` does not jump when somebody sets the system's clock, until `follow` is called. Why: ADR 0028.
 */
export type SteadyClock = Clock & {
  /**
   * How far the system's clock has been set ahead (or back, below 0) and not been followed yet; mostly 0. With `aheadMs`, the
   * same of a clock that is so far ahead of `monotonicMs()`.
   */
  jumpMs(aheadMs?: number): number;
  /** Moves `nowMs()` by this much. The caller moves the stored times by as much. */
  follow(jumpMs: number): void;
};

/**
 * Wall time as it was at the start plus the time that has passed since, so that times which are stored and compared
 * while the process runs measure what has really passed.
 */
export function steadyClock(clock: Clock): SteadyClock {
  const systemAheadMs = (): number => clock.nowMs() - clock.monotonicMs();
  let followedMs = systemAheadMs();
  const jumpMs = (aheadMs = systemAheadMs()): number => {
    const jumpedMs = Math.round(aheadMs - followedMs);
    return Math.abs(jumpedMs) < toleranceMs ? 0 : jumpedMs;
  };
  return {
    ...clock,
    nowMs: () => clock.nowMs() - jumpMs(),
    jumpMs,
    follow(byMs) {
      followedMs += byMs;
    },
  };
}
