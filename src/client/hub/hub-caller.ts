import { isDeepStrictEqual } from "node:util";
import type { RouteInput } from "../../contract/routes/build-request.ts";
import { callRoute, openRoute } from "../../contract/routes/call-route.ts";
import type { RouteAnswer } from "../../contract/routes/read-answer.ts";
import type { Route } from "../../contract/routes/route.ts";
import { atCaller } from "../../core/at-caller.ts";
import { hasCode } from "../../core/errors.ts";
import { type Clock, systemClock } from "../../runtime/clock/clock.ts";
import { createHttpClient, type HttpClient, type HttpStream } from "../../runtime/http/http-client.ts";
import type { TransferDeps } from "../../transfer/transfer-deps.ts";
import { clientClosed } from "../client-closed.ts";
import type { WritOptions } from "../options.ts";
import type { ExchangedToken } from "./exchanged-token.ts";
import { findHub, type HubTarget } from "./find-hub.ts";

// Longer than any commit takes on a slow disk, short enough that a caller learns of a dead hub.
const callMsMax = 30_000;
// An event stream sends something at least every 15 s, so three silent periods mean that the connection is dead. An
// output may be silent for as long as its job is; then it is reopened, which costs one request.
const streamSilenceMsMax = 45_000;
// Hubs that are replaced one after the other may all be away for a moment. With a single address, the address is more
// likely wrong than the hub away, and the caller should get the error at once.
const patienceMsOfSeveral = 5_000;

/**
 * Calls the routes of the contract. It finds its hub at the first call, and again after the hub could not be reached.
 * Why: ADR 0082.
 */
export class HubCaller {
  readonly clock: Clock;
  readonly random: () => number;
  readonly #options: WritOptions;
  readonly #traceHeaders: Headers;
  #exchanged: Promise<ExchangedToken> | undefined;
  #current: { target: HubTarget; client: HttpClient } | undefined;
  #mayHaveMoved = false;
  #isClosed = false;

  constructor(options: WritOptions) {
    this.#options = options;
    this.#traceHeaders = options.traceparent === undefined ? {} : { traceparent: options.traceparent };
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? Math.random;
  }

  /** Calls a route; a refusal is thrown as the hub's error. */
  call<R extends Route>(
    route: R,
    input: RouteInput<R>,
    { signal, timeoutMs = callMsMax }: { signal?: AbortSignal | undefined; timeoutMs?: number } = {},
  ): Promise<RouteAnswer<R>> {
    return this.#with((client, headers) =>
      callRoute(
        (request) => client.request({ ...authorized(request, headers), signal, timeoutMs }),
        route,
        input,
      ),
    );
  }

  /** Opens a route whose response is a stream. */
  stream<R extends Route>(route: R, input: RouteInput<R>, signal: AbortSignal): Promise<HttpStream> {
    const idleTimeoutMs = streamSilenceMsMax;
    return this.#with((client, headers) =>
      openRoute(
        (request) => client.openStream({ ...authorized(request, headers), signal, idleTimeoutMs }),
        route,
        input,
      ),
    );
  }

  /** What files are moved with. */
  async transfer(): Promise<TransferDeps> {
    await this.#open();
    return { ca: this.#current?.target.ca, clock: this.clock, random: this.random };
  }

  /** What is known about where the hub is. */
  find(): Promise<HubTarget> {
    return findHub(this.#options);
  }

  /** The address in use: of the hub that answered last, or that will be called first. */
  async currentUrl(): Promise<string> {
    return (await this.#open()).currentHub;
  }

  close(): void {
    this.#isClosed = true;
    this.#current?.client.close();
  }

  async #with<T>(act: (client: HttpClient, headers: Headers) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw clientClosed();
    const client = await this.#open();
    const token = await this.#exchangedToken();
    try {
      return await act(client, { ...this.#traceHeaders, ...(token && { authorization: `Bearer ${token}` }) });
    } catch (error) {
      // What was under way ends with the client, which says nothing about the hub.
      if (this.#isClosed && hasCode(error, "HUB_UNREACHABLE")) throw clientClosed();
      if (hasCode(error, "HUB_UNREACHABLE")) this.#mayHaveMoved = true;
      throw atCaller(error);
    }
  }

  /** The library for gRPC is loaded only for a caller with a certificate. */
  async #exchangedToken(): Promise<string | undefined> {
    const { certificate } = this.#options;
    if (certificate === undefined) return undefined;
    this.#exchanged ??= import("./exchanged-token.ts").then(
      (file) => new file.ExchangedToken(certificate, this.clock),
    );
    return (await this.#exchanged).get();
  }

  /** A hub that comes back may have another port or token; both are in its home, so they are read again. */
  async #open(): Promise<HttpClient> {
    if (this.#current !== undefined && !(this.#mayHaveMoved && this.#options.home !== undefined)) {
      return this.#current.client;
    }
    const target = await findHub(this.#options);
    this.#mayHaveMoved = false;
    if (this.#current === undefined || !isDeepStrictEqual(target, this.#current.target)) {
      this.#current?.client.close();
      const { urls, ...trust } = target;
      const { clock, random } = this;
      const patienceMs = this.#options.retryMs ?? (urls.length > 1 ? patienceMsOfSeveral : 0);
      const { frames } = this.#options;
      const client = createHttpClient({ baseUrls: urls, ...trust, frames, clock, random, patienceMs });
      this.#current = { target, client };
    }
    return this.#current.client;
  }
}

type Headers = Record<string, string>;

function authorized<T extends { headers?: Headers | undefined }>(request: T, headers: Headers): T {
  return { ...request, headers: { ...request.headers, ...headers } };
}
