/** Numbers that look random and are decided by a seed alone. */
export type Random = {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number from 0 up to `count`. */
  below(count: number): number;
  /** A whole number of milliseconds between the two. */
  between(fromMs: number, toMs: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  bytes(count: number): Uint8Array;
};

/** Mulberry32: a few lines, and far better than what a schedule of some thousand draws needs. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number): number => Math.floor(next() * count);
  return {
    next,
    below,
    between: (fromMs, toMs) => fromMs + below(toMs - fromMs + 1),
    chance: (probability) => next() < probability,
    pick: (list) => list[below(list.length)]!,
    bytes: (count) => Uint8Array.from({ length: count }, () => below(256)),
  };
}
