type BackOff = {
  firstMs: number;
  maxMs: number;
  /** Given where many clients reconnect to one server, so that they do not all reconnect at the same time. */
  random?: (() => number) | undefined;
};

/** The pause before the next try after this many failures: it doubles each time, up to a ceiling. */
export function backOffMs(failures: number, { firstMs, maxMs, random }: BackOff): number {
  // The exponent is bounded, because the number would otherwise exceed its range.
  const ms = Math.min(maxMs, firstMs * 2 ** Math.min(failures, 30));
  return random === undefined ? ms : withJitter(ms, random);
}

/** A random pause between half of it and all of it. */
export function withJitter(ms: number, random: () => number): number {
  return ms / 2 + (random() * ms) / 2;
}
