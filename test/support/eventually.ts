import { setTimeout as pause } from "node:timers/promises";

/** Long enough for a machine that does much else; a condition that is met returns at once. */
const patienceMs = 120_000;
const lookMs = 10;

/** Waits until the look gives something other than null, undefined or false, and returns it. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  while (performance.now() < deadline) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    await pause(lookMs);
  }
  throw new Error(`${what}: this did not come about within ${patienceMs / 1000} s`);
}
