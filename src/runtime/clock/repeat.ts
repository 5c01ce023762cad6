import type { Service } from "../service.ts";
import type { Clock } from "./clock.ts";
import { WakeUp } from "./wake-up.ts";

type RepeatOptions = {
  name: string;
  intervalMs: number;
  clock: Clock;
  /** Ends the loop from outside; `stop()` does the same and waits. */
  signal?: AbortSignal;
  onError: (error: unknown) => void;
};

export type RepeatedService = Service & {
  /** Runs now, or once more right after the current run. Several calls cause one run. */
  wake(): void;
};

/**
 * Calls `fn` at once and then again `intervalMs` after each run has ended, so that runs never overlap. `fn` receives a
 * signal that is aborted at stop.
 */
export function repeat(
  options: RepeatOptions,
  fn: (signal: AbortSignal) => void | Promise<void>,
): RepeatedService {
  let running: { stopping: AbortController; over: Promise<void> } | undefined;
  const wakeUp = new WakeUp();
  const timeout = { clock: options.clock, ms: options.intervalMs };

  const loop = async (stopping: AbortSignal): Promise<void> => {
    while (!stopping.aborted) {
      wakeUp.clear();
      await runOnce(options, fn, stopping);
      const wasWoken = await wakeUp.wait({ signal: stopping, timeout });
      // A run that wakes itself must still let the rest of the process run.
      if (wasWoken) await nextTurn();
    }
  };

  const stop = async (): Promise<void> => {
    const current = running;
    if (current === undefined) return;
    current.stopping.abort();
    await current.over;
    if (running === current) running = undefined;
  };

  const start = async (): Promise<void> => {
    if (running !== undefined) throw new Error(`service ${options.name} is already running`);
    const stopping = new AbortController();
    const onAbort = (): void => stopping.abort();
    if (options.signal?.aborted) stopping.abort();
    options.signal?.addEventListener("abort", onAbort, { once: true });
    const over = loop(stopping.signal).finally(() => options.signal?.removeEventListener("abort", onAbort));
    running = { stopping, over };
  };

  return { name: options.name, start, stop, wake: wakeUp.wake };
}

async function runOnce(
  options: RepeatOptions,
  fn: (signal: AbortSignal) => void | Promise<void>,
  stopping: AbortSignal,
): Promise<void> {
  try {
    await fn(stopping);
  } catch (error) {
    // A run that was aborted has not failed.
    if (stopping.aborted && error === stopping.reason) return;
    report(options.onError, error);
  }
}

/** An error while reporting an error must not end the loop either. */
function report(onError: (error: unknown) => void, error: unknown): void {
  try {
    onError(error);
  } catch {
    // There is no place left to report it to.
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
