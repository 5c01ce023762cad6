import type { Clock } from "../runtime/clock.ts";

type Deadline = { signal: AbortSignal; release(): void };

/** A signal that is aborted by the caller's own or when the time is over. `release` frees both. */
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
      // Whatever still runs for this caller, such as a stream nobody reads to its end, is over too.
      controller.abort();
    },
  };
}

function timeIsOver(timeoutMs: number): DOMException {
  return new DOMException(`not over after ${timeoutMs} ms`, "TimeoutError");
}
