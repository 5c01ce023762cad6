import type { Clock } from "./clock.ts";

export type WaitBounds = {
  /** Ends the wait from outside. */
  signal?: AbortSignal | undefined;
  /** Ends the wait after this time. */
  timeout?: { clock: Pick<Clock, "sleep">; ms: number };
};

/**
 * How a loop waits until it should look again: look, wait, look. A wake-up that arrives between the look and the wait
 * ends the wait at once, and any number of them cause one more look. Only one loop waits on it at a time. It must be
 * registered with its waker before the first look; otherwise a change in between is missed until the time limit.
 */
export class WakeUp {
  #isPending = false;
  #endWait: (() => void) | undefined;

  /** Bound, so that it can be passed as a listener. */
  readonly wake = (): void => {
    this.#isPending = true;
    this.#endWait?.();
  };

  /** Forgets earlier wake-ups, because a look that begins now sees what they were about. */
  clear(): void {
    this.#isPending = false;
  }

  /**
   * Resolves when it is woken or a limit is reached, and never rejects: the caller looks again in any case, and then
   * finds an aborted signal. Returns true if it was woken.
   */
  async wait(bounds: WaitBounds): Promise<boolean> {
    if (this.#endWait !== undefined)
      throw new Error("a wake-up can have only one waiter, and it already has one");
    if (!this.#isPending && bounds.signal?.aborted !== true) await this.#pause(bounds);
    const wasWoken = this.#isPending;
    this.#isPending = false;
    return wasWoken;
  }

  async #pause({ signal, timeout }: WaitBounds): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    this.#endWait = end;
    signal?.addEventListener("abort", end);
    const sleep = timeout === undefined ? undefined : new AbortController();
    timeout?.clock.sleep(timeout.ms, sleep?.signal).then(end, end);
    await promise;
    sleep?.abort(isOver);
    signal?.removeEventListener("abort", end);
    this.#endWait = undefined;
  }
}

/** Without a reason of its own, each abort would build an error with a stack, which takes 4 us. */
const isOver = "the wait is over";
