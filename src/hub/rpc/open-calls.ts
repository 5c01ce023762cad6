import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { repeat, type Service } from "../../runtime/service.ts";

/** How often calls check whether their certificate is still valid; a call with a revoked one ends within 5 s. */
const checkMs = 2_000;

type OpenCall = { abort: AbortController; isStillAllowed: () => void };

/** Every call in progress. A call whose certificate was revoked ends, and all calls end when the hub stops. */
export class OpenCalls {
  readonly #calls = new Set<OpenCall>();
  readonly #looks: Service;
  #isStopping = false;

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#looks = repeat({ name: "open calls", intervalMs: checkMs, clock, onError }, () => this.#look());
  }

  start(): Promise<void> {
    return this.#looks.start();
  }

  /** Waiting callers are refused with the advice to call again: a stream continues from its offset. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const call of [...this.#calls]) call.abort.abort(shuttingDown());
    await this.#looks.stop();
  }

  get size(): number {
    return this.#calls.size;
  }

  /** `isStillAllowed` throws the reason if the call must end. The signal ends the call; call `close` at its end. */
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
