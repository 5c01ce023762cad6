/** Time as a dependency, so that tests and simulations control it. */
export type Clock = {
  /** Milliseconds since the epoch; may jump when somebody sets the clock. */
  nowMs(): number;
  /** Milliseconds that only ever increase; for durations and deadlines. */
  monotonicMs(): number;
  /** Rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  setTimer(fn: () => void, ms: number): Timer;
};

export type Timer = { cancel(): void };

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: sleepOnSystemClock,
  // A timer (a timeout, a flush) never keeps alive a process that has nothing else to do; otherwise every forgotten one
  // would delay the exit. A sleep is awaited by somebody, so it does keep the process alive; otherwise the program
  // would end silently in the middle of its work.
  setTimer: (fn, ms) => armTimer(fn, ms, false),
};

// Node fires a longer timeout after 1 ms instead of waiting, so long waits are split.
const timeoutMsMax = 2 ** 31 - 1;

function armTimer(fn: () => void, ms: number, keepsProcessAlive: boolean): Timer {
  let handle: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    const pieceMs = Math.min(leftMs, timeoutMsMax);
    handle = setTimeout(() => (leftMs > pieceMs ? arm(leftMs - pieceMs) : fn()), pieceMs);
    if (!keepsProcessAlive) handle.unref();
  };
  arm(Math.max(0, ms));
  return { cancel: () => clearTimeout(handle) };
}

function sleepOnSystemClock(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = armTimer(
      () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      },
      ms,
      true,
    );
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
