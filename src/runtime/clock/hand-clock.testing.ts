import type { Clock } from "./clock.ts";

export type HandClock = Clock & {
  /** Lets this much time pass, and resolves when everything that was due in it has happened. */
  pass(ms: number): Promise<void>;
};

/** Time that passes only when a test says so, so that the outcome is the same on a machine of any speed. */
export function handClock(): HandClock {
  const timers = new Set<{ atMs: number; fire: () => void }>();
  let nowMs = 0;
  const setTimer: Clock["setTimer"] = (fire, ms) => {
    const timer = { atMs: nowMs + Math.max(0, ms), fire };
    timers.add(timer);
    return { cancel: () => void timers.delete(timer) };
  };
  const nextBefore = (endMs: number) =>
    [...timers].filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs)[0];
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    setTimer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const timer = setTimer(resolve, ms);
        const onAbort = (): void => {
          timer.cancel();
          reject(signal?.reason);
        };
        if (signal?.aborted) onAbort();
        else signal?.addEventListener("abort", onAbort, { once: true });
      }),
    async pass(ms) {
      const endMs = nowMs + ms;
      for (let next = nextBefore(endMs); next !== undefined; next = nextBefore(endMs)) {
        timers.delete(next);
        nowMs = next.atMs;
        next.fire();
        // What a timer starts continues in promises, and may set the next timer.
        await new Promise((resolve) => setImmediate(resolve));
      }
      nowMs = endMs;
    },
  };
}
