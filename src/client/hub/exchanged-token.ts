import type { Clock } from "../../runtime/clock/clock.ts";
import type { RpcOptions } from "../grpc/find-rpc.ts";
import { RpcCaller, type RpcDeps } from "../grpc/rpc-caller.ts";

// A token lives for ten minutes by the hub's clock. Replaced after half of them by ours, it is never shown expired.
const useMsMax = 300_000;
const callMsMax = 30_000;

/**
 * The token for HTTP that a hub gives for a certificate. It is asked for when it is needed, and again when it is old.
 * Why: ADR 0036.
 */
export class ExchangedToken {
  readonly #options: RpcOptions;
  readonly #clock: Clock;
  readonly #deps: RpcDeps | undefined;
  #current: { token: Promise<string>; sinceMs: number } | undefined;

  constructor(options: RpcOptions, clock: Clock, deps?: RpcDeps) {
    this.#options = options;
    this.#clock = clock;
    this.#deps = deps;
  }

  /** Calls made together share one exchange. A failed one is not kept. */
  get(): Promise<string> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#current !== undefined && nowMs - this.#current.sinceMs < useMsMax) return this.#current.token;
    const current = { token: this.#exchange(), sinceMs: nowMs };
    this.#current = current;
    current.token.catch(() => {
      if (this.#current === current) this.#current = undefined;
    });
    return current.token;
  }

  async #exchange(): Promise<string> {
    const rpc = new RpcCaller(this.#options, this.#deps);
    try {
      return (await rpc.call("exchangeCertificate", {}, { timeoutMs: callMsMax })).token;
    } finally {
      rpc.close();
    }
  }
}
