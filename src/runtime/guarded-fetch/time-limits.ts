import type { Clock } from "../clock/clock.ts";
import { FetchError } from "./fetch-error.ts";

/** How long the other side may be silent, and how long everything may take. */
export type TimeLimits = { idleMs: number; totalMs: number };

export type TimeWatch = {
  /** Aborted with a FetchError when one of the limits is exceeded. */
  readonly signal: AbortSignal;
  /** Counts the time that the other side takes, and not the time that we take with what it has sent. */
  during<T>(work: Promise<T>): Promise<T>;
  end(): void;
};

export function watchTime(clock: Clock, { idleMs, totalMs }: TimeLimits): TimeWatch {
  const late = new AbortController();
  const fail = (what: string): void => late.abort(new FetchError("failed", what));
  const total = clock.setTimer(() => fail(`the download took longer than ${totalMs / 1000} s`), totalMs);
  return {
    signal: late.signal,
    async during(work) {
      const idle = clock.setTimer(() => fail(`the server sent nothing for ${idleMs / 1000} s`), idleMs);
      try {
        return await work;
      } finally {
        idle.cancel();
      }
    },
    end: () => total.cancel(),
  };
}
