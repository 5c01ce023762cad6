import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { repeat, type Service } from "../../runtime/service.ts";

/** Calls look this often whether their certificate still holds; a revoked one ends within 5 s. */
const lookMs = 2_000;

type OpenCall = { abort: AbortController; isStillAllowed: () => void };

/** Every call under way, so that one whose certificate was revoked ends, and all of them when the hub stops. */
export class OpenCalls {
  readonly #calls = new Set<OpenCall>();
  readonly #looks: Service;
  #isStopping = false;

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#looks = repeat({ name: "open calls", intervalMs: lookMs, clock, onError }, () => this.#look());
  }

  start(): Promise<void> {
    return this.#looks.start();
  }

  /** Whoever waits is told to come back: a stream is taken up again by its offset. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const call of [...this.#calls]) call.abort.abort(shuttingDown());
    await this.#looks.stop();
  }

  get size(): number {
    return this.#calls.size;
  }

  /** `isStillAllowed` throws the reason why not. The signal ends the call; close it when it is over. */
  open(isStillAllowed: () => void): { signal: AbortSignal; close(): void } {
    if (this.#isStopping) throw shuttingDown();
    const call = { abort: new AbortController(), isStillAllowed };
    this.#calls.add(call);
    return { signal: call.abort.signal, close: () => this.#calls.delete(call) };
  }

  #look(): void {
    for (const call of [...this.#calls]) {
      try {
        call.isStillAllowed();
      } catch (error) {
        call.abort.abort(error);
      }
    }
  }
}

function shuttingDown(): WritError {
  return new WritError("SHUTTING_DOWN", "the hub is stopping; call again");
}
