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
  const followers = signal && followersOf(signal).add(onAbort);
  return {
    signal: controller.signal,
    release() {
      timer?.cancel();
      followers?.delete(onAbort);
      // Ends whatever still runs for this caller, such as a stream that is not read to its end.
      controller.abort();
    },
  };
}

const followersBySignal = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * The waits that a signal ends, behind one listener. A hundred thousand waits may share a signal, and a signal compares
 * each new listener with all that it has. Node 20 would also warn of a leak at the eleventh.
 */
function followersOf(signal: AbortSignal): Set<() => void> {
  const known = followersBySignal.get(signal);
  if (known !== undefined) return known;
  const followers = new Set<() => void>();
  followersBySignal.set(signal, followers);
  const tellAll = (): void => {
    for (const follow of followers) follow();
  };
  signal.addEventListener("abort", tellAll, { once: true });
  return followers;
}
