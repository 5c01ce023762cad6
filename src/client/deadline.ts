import type { Clock } from "../runtime/clock.ts";

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
