import { WritError } from "../../../core/errors.ts";
import type { Clock } from "../../../runtime/clock/clock.ts";
import { repeat, type Service } from "../../../runtime/service.ts";

const lookMs = 1_000;
/** Every body may take this long; after that, it must have arrived at the minimum rate. */
const graceMs = 10_000;
const bytesPerSecMin = 16 * 1024;
/** A body that has not arrived within this time is slow. Nearly all bodies arrive together with their headers. */
const slowMs = 1_000;
const slowPerCallerMax = 32;
const slowMax = 512;

type OpenBody = {
  caller: string;
  openedAt: number;
  bytes: number;
  refuse: (error: WritError) => void;
};

/** Every request body that has not arrived completely, so that slow senders hold few connections, and not for long. */
export class OpenBodies implements Service {
  readonly name = "open bodies";
  /** Oldest first. */
  readonly #bodies = new Set<OpenBody>();
  readonly #clock: Clock;
  readonly #looks: Service;

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#looks = repeat({ name: this.name, intervalMs: lookMs, clock, onError }, () => this.#look());
  }

  start(): Promise<void> {
    return this.#looks.start();
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  /** Registers a body of this caller. `refuse` is called when it is too slow; call `close` when it has ended. */
  open(caller: string, refuse: OpenBody["refuse"]): { received(bytes: number): void; close(): void } {
    const body: OpenBody = { caller, refuse, bytes: 0, openedAt: this.#clock.monotonicMs() };
    this.#bodies.add(body);
    return {
      received: (bytes) => {
        body.bytes += bytes;
      },
      close: () => this.#bodies.delete(body),
    };
  }

  #look(): void {
    const now = this.#clock.monotonicMs();
    const slow = [...this.#bodies].filter(({ openedAt }) => now - openedAt >= slowMs);
    const slowOf = new Map<string, number>();
    let count = 0;
    for (const body of slow) {
      const ofCaller = (slowOf.get(body.caller) ?? 0) + 1;
      slowOf.set(body.caller, ofCaller);
      count += 1;
      const allowedMs = graceMs + (body.bytes / bytesPerSecMin) * 1000;
      if (now - body.openedAt >= allowedMs) this.#refuse(body, tooSlow());
      else if (ofCaller > slowPerCallerMax || count > slowMax) this.#refuse(body, tooMany());
    }
  }

  #refuse(body: OpenBody, error: WritError): void {
    this.#bodies.delete(body);
    body.refuse(error);
  }
}

function tooSlow(): WritError {
  const rate = `at least ${bytesPerSecMin} bytes a second after the first ${graceMs / 1000} s`;
  return new WritError("BODY_TIMEOUT", `the body arrives too slowly; send ${rate}`);
}

function tooMany(): WritError {
  return new WritError("RATE_LIMITED", `at most ${slowPerCallerMax} bodies may be on their way at once`);
}
