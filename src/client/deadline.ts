import { setMaxListeners } from "node:events";
import type { Clock } from "../runtime/clock/clock.ts";

type DeadlineOptions = {
  signal?: AbortSignal | undefined;
  /** How long, and the error when that time has passed. */
  timeout?: { ms: number; error: () => Error } | undefined;
};

type Deadline = { signal: AbortSignal; release(): void };

/** A signal that is aborted by the caller's own signal or when the time is up. `release` frees both. */
export function openDeadline(clock: Clock, { signal, timeout }: DeadlineOptions): Deadline {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  const timer = timeout && clock.setTimer(() => controller.abort(timeout.error()), timeout.ms);
  if (signal?.aborted) onAbort();
  // Many waits may share a signal, and each of them leaves it when it is over. Node 20 would warn of a leak at the eleventh.
  if (signal !== undefined) setMaxListeners(0, signal);
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    release() {
      timer?.cancel();
      signal?.removeEventListener("abort", onAbort);
      // Ends whatever still runs for this caller, such as a stream that nobody reads to its end.
      controller.abort();
    },
  };
}
