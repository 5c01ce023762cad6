import { backOffMs } from "../runtime/clock/back-off.ts";
import type { PresignedUrl, TransferDeps } from "./transfer-deps.ts";
import { TransferFailure } from "./transfer-failure.ts";

const triesMax = 3;
/** A connection that has moved this much has been of use, and the next try counts as the first one again. */
const usefulBytes = 8 * 1024 ** 2;
/** However useful they are, some end has to come. */
const triesInAllMax = 1000;

type Tries = {
  /** Gives a new URL each time. */
  ask(): Promise<PresignedUrl>;
  /** How much of the file has arrived so far. */
  bytes(): number;
  signal: AbortSignal;
};

/** Tries a transfer up to three times in a row, each time with a fresh URL. Why: ADR 0042. */
export async function withFreshUrls<T>(
  { clock, random }: Pick<TransferDeps, "clock" | "random">,
  { ask, bytes, signal }: Tries,
  transfer: (url: PresignedUrl) => Promise<T>,
): Promise<T> {
  for (let failures = 0, tries = 1; ; tries++) {
    const before = bytes();
    try {
      return await transfer(await ask());
    } catch (error) {
      signal.throwIfAborted();
      failures = bytes() - before >= usefulBytes ? 1 : failures + 1;
      const isPassing = error instanceof TransferFailure && error.isPassing;
      if (!isPassing || failures >= triesMax || tries >= triesInAllMax) throw error;
      await clock.sleep(backOffMs(failures - 1, { firstMs: 200, maxMs: 5_000, random }), signal);
    }
  }
}
