import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../runtime/clock/clock.ts";

/** A request must have arrived within this time. Files may take as long as they need: `OpenBodies` watches their rate. */
const requestMs = 60_000;
const lookMs = 5_000;

/**
 * Ends requests whose body does not arrive, so that slow senders do not hold connections. Node's own limit cannot
 * exclude files.
 */
export class LateRequests {
  readonly #clock: Clock;
  readonly #arriving = new Map<IncomingMessage, number>();
  #timer: { cancel(): void } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    this.#timer = this.#clock.setTimer(() => this.#look(), lookMs);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  watch(incoming: IncomingMessage): void {
    const { "content-length": length, "transfer-encoding": encoding } = incoming.headers;
    const hasBody = encoding !== undefined || (length !== undefined && length !== "0");
    if (!hasBody || isFile(incoming)) return;
    this.#arriving.set(incoming, this.#clock.monotonicMs());
    incoming.once("close", () => this.#arriving.delete(incoming));
  }

  #look(): void {
    for (const [incoming, since] of this.#arriving) {
      if (incoming.complete) this.#arriving.delete(incoming);
      else if (this.#clock.monotonicMs() - since > requestMs) incoming.socket.destroy();
    }
    this.start();
  }
}

function isFile({ method, url = "" }: IncomingMessage): boolean {
  return method === "PUT" && /^\/api(?:\/v1)?\/objects\//.test(url);
}
