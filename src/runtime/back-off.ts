type BackOff = {
  firstMs: number;
  maxMs: number;
  /** Given where many come back to one place, so that they do not come back in step. */
  random?: (() => number) | undefined;
};

/** The pause before the next try after so many failures: it doubles each time, up to a ceiling. */
export function backOffMs(failures: number, { firstMs, maxMs, random }: BackOff): number {
  // The exponent has a bound because a number that grows past its range is not a pause any more.
  const ms = Math.min(maxMs, firstMs * 2 ** Math.min(failures, 30));
  return random === undefined ? ms : withJitter(ms, random);
}

/** Somewhere between half of it and the whole. */
export function withJitter(ms: number, random: () => number): number {
  return ms / 2 + (random() * ms) / 2;
}
