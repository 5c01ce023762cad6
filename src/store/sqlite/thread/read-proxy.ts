import { WritError } from "../../../core/errors.ts";
import type { Reads, StoreProxy } from "./store-proxy.ts";
import type { WireAct } from "./wire.ts";

/** A thread takes 10 MB and some 50 ms to start. Metrics are often read every 15 to 60 seconds. */
const idleMsDefault = 75_000;

/**
 * Starts the thread that reads when it is needed, and ends it when nobody has read anything for a while. Why: ADR 0059.
 */
export class ReadProxy implements Reads {
  readonly #start: () => StoreProxy;
  readonly #idleMs: number;
  #proxy: StoreProxy | null = null;
  #rest: NodeJS.Timeout | undefined;
  #resting: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(start: () => StoreProxy, idleMs = idleMsDefault) {
    this.#start = start;
    this.#idleMs = idleMs;
  }

  call(act: WireAct, input: unknown): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new WritError("STORE_UNAVAILABLE", "the store is closed"));
    if (this.#proxy === null || this.#proxy.isEnded) this.#proxy = this.#start();
    if (this.#rest === undefined) this.#rest = setTimeout(() => this.#end(), this.#idleMs).unref();
    else this.#rest.refresh();
    return this.#proxy.call(act, input);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#rest);
    this.#end();
    await this.#resting;
  }

  /** What it was asked before is still answered. */
  #end(): void {
    const ending = this.#proxy?.close();
    this.#proxy = null;
    this.#resting = Promise.all([this.#resting, ending]).then(() => {});
  }
}
