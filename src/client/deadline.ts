import type { Clock } from "../runtime/clock.ts";

type Deadline = { signal: AbortSignal; release(): void };

/** A signal that is aborted by the caller's own signal or when the time is up. `release` frees both. */
export function openDeadline(
  clock: Clock,
  { signal, timeoutMs }: { signal?: AbortSignal | undefined; timeoutMs?: number | undefined },
): Deadline {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  const timer =
    timeoutMs === undefined
      ? undefined
      : clock.setTimer(() => controller.abort(timeIsOver(timeoutMs)), timeoutMs);
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

function timeIsOver(timeoutMs: number): DOMException {
  return new DOMException(`not finished after ${timeoutMs} ms`, "TimeoutError");
}
