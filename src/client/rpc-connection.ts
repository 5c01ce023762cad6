import { isDeepStrictEqual } from "node:util";
import { type Client, ConnectError } from "@connectrpc/connect";
import type { JobService } from "../contract/gen/writ/v1/job_service_pb.js";
import { hasCode, WritError } from "../core/errors.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { findRpc, type RpcOptions, type RpcTarget } from "./find-rpc.ts";
import { rpcError } from "./rpc-errors.ts";

export type CallLimits = { signal?: AbortSignal | undefined; timeoutMs?: number | undefined };
export type OpenClient = { client: RpcClient; close(): void };
export type RpcDeps = {
  find(options: RpcOptions): Promise<RpcTarget>;
  open(target: RpcTarget): Promise<OpenClient>;
};

/** The client that the library would make. Ours returns only the fields, without the names of their messages. */
export type RpcClient = Client<typeof JobService>;

// The library is loaded when a connection is opened, not for `--help`.
const realDeps: RpcDeps = {
  find: findRpc,
  open: async (target) => (await import("./open-client.ts")).openClient(target),
};

type Current = { target: RpcTarget; client: RpcClient; close(): void };

/** Calls a hub's JobService. It finds its hub at the first call, and again after the hub could not be reached. */
export class RpcConnection {
  readonly clock: Clock;
  readonly random: () => number;
  readonly #options: RpcOptions;
  readonly #deps: RpcDeps;
  #current: Promise<Current> | undefined;
  #mayHaveMoved = false;
  #isClosed = false;

  constructor(options: RpcOptions, deps: RpcDeps = realDeps) {
    this.#options = options;
    this.#deps = deps;
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? Math.random;
  }

  /** One call; a refusal is thrown as the hub's error, an abort as the signal's reason. */
  async call<T>(act: (client: RpcClient) => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const current = await this.#open();
    try {
      return await act(current.client);
    } catch (error) {
      throw this.#understood(error, current, signal);
    }
  }

  /** Like `call`, for a response that arrives in parts. */
  async *stream<T>(act: (client: RpcClient) => AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
    signal.throwIfAborted();
    const current = await this.#open();
    try {
      yield* act(current.client);
    } catch (error) {
      throw this.#understood(error, current, signal);
    }
  }

  close(): void {
    this.#isClosed = true;
    void this.#current?.then(({ close }) => close()).catch(() => {});
  }

  #understood(error: unknown, { target }: Current, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted && error instanceof ConnectError) return signal.reason;
    const understood = rpcError(error, target);
    if (hasCode(understood, "HUB_UNREACHABLE")) this.#mayHaveMoved = true;
    return understood;
  }

  /** A hub that comes back may have another port or authority; both are in its home, so they are read again. */
  async #open(): Promise<Current> {
    if (this.#isClosed) throw new WritError("HUB_UNREACHABLE", "this client has been closed");
    if (this.#current !== undefined && !this.#mayHaveMoved) return this.#current;
    this.#mayHaveMoved = false;
    const before = this.#current;
    this.#current = this.#reopen(before);
    // A failed attempt must not be kept, or every later call would fail with it again.
    this.#current.catch(() => {
      this.#current = undefined;
    });
    return this.#current;
  }

  async #reopen(before: Promise<Current> | undefined): Promise<Current> {
    const target = await this.#deps.find(this.#options);
    const current = await before?.catch(() => undefined);
    if (current !== undefined && isDeepStrictEqual(target, current.target)) return current;
    current?.close();
    return { target, ...(await this.#deps.open(target)) };
  }
}
