import { isDeepStrictEqual } from "node:util";
import type { jobService } from "../../contract/gen/writ/v1/job_service.ts";
import { hasCode, WritError } from "../../core/errors.ts";
import { type Clock, systemClock } from "../../runtime/clock/clock.ts";
import type { MessageInit, MessageOf } from "../../runtime/grpc/wire-message.ts";
import { parseGrpcAddresses } from "../../runtime/hubs/grpc-address.ts";
import { hubAddressesMax } from "../../runtime/hubs/hub-address.ts";
import { HubChoice } from "../../runtime/hubs/hub-choice.ts";
import { clientClosed } from "../client-closed.ts";
import { findRpc, type RpcOptions, type RpcTarget } from "./find-rpc.ts";

export type CallLimits = {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
};
type Methods = typeof jobService;
type Request<N extends keyof Methods> = MessageInit<Methods[N]["input"]>;
type Response<N extends keyof Methods> = MessageOf<Methods[N]["output"]>;

/** The calls of one hub; those with a single response yield one. */
export type OpenClient = {
  exchange<N extends keyof Methods>(
    name: N,
    request: Request<N>,
    limits: CallLimits,
  ): AsyncIterable<Response<N>>;
  close(): void;
};
export type RpcDeps = {
  find(options: RpcOptions): Promise<RpcTarget[]>;
  open(target: RpcTarget, clock: Clock): Promise<OpenClient>;
};

// HTTP/2 is loaded when a connection is opened: a program that imports the SDK may never need it.
const realDeps: RpcDeps = {
  find: findRpc,
  open: async (target, clock) => (await import("./open-client.ts")).openClient(target, clock),
};

type Current = {
  found: readonly RpcTarget[];
  /** Those that were found, and where they have moved to. */
  targets: RpcTarget[];
  choice: HubChoice;
  open: Map<number, Promise<OpenClient>>;
};

/**
 * Calls the JobService of a hub, or of the next if it cannot be reached: every call of it may arrive twice. It finds its
 * hubs at the first call, and again after none could be reached.
 */
export class RpcCaller {
  readonly clock: Clock;
  readonly random: () => number;
  readonly #options: RpcOptions;
  readonly #deps: RpcDeps;
  #current: Promise<Current> | undefined;
  #mayHaveMoved = false;
  #isClosed = false;
  /** Whether any call was answered. */
  hasAnswered = false;

  constructor(options: RpcOptions, deps: RpcDeps = realDeps) {
    this.#options = options;
    this.#deps = deps;
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? Math.random;
  }

  /** One call; a refusal is thrown as the hub's error, an abort as the signal's reason. */
  async call<N extends keyof Methods>(
    name: N,
    request: Request<N>,
    limits: CallLimits,
  ): Promise<Response<N>> {
    let only: Response<N> | undefined;
    // The status follows the message, and decides whether it is valid.
    for await (const response of this.stream(name, request, limits)) only = response;
    if (only === undefined) throw new WritError("HTTP_ERROR", "the hub answered without a message");
    return only;
  }

  /** Like `call`, for a response that arrives in parts. After the first, the reader has to ask again. */
  async *stream<N extends keyof Methods>(
    name: N,
    request: Request<N>,
    limits: CallLimits,
  ): AsyncGenerator<Response<N>> {
    const { signal } = limits;
    signal?.throwIfAborted();
    const current = await this.#find();
    const failures: WritError[] = [];
    for (const index of inTurn(current)) {
      let hasBegun = false;
      try {
        const client = await this.#open(current, index);
        for await (const part of client.exchange(name, request, limits)) {
          if (!hasBegun) current.choice.answered(index);
          hasBegun = true;
          this.hasAnswered = true;
          yield part;
        }
        return;
      } catch (error) {
        failures.push(this.#failure(error, { current, index, signal }));
        if (hasBegun) break;
      }
    }
    throw noneReached(failures);
  }

  close(): void {
    this.#isClosed = true;
    // Hubs that could not be found have no connection to close.
    void this.#current?.then(closeAll).catch(() => {});
  }

  /** The error, if another hub may do better; any other error is thrown. */
  #failure(
    error: unknown,
    { current, index, signal }: { current: Current; index: number; signal: AbortSignal | undefined },
  ): WritError {
    if (signal?.aborted) throw signal.reason;
    // What was under way ends with the client, which says nothing about the hub.
    if (this.#isClosed && hasCode(error, "HUB_UNREACHABLE")) throw clientClosed();
    if (!hasCode(error, "HUB_UNREACHABLE", "SHUTTING_DOWN", "STORE_UNAVAILABLE", "HUB_MOVED")) throw error;
    current.choice.failed(index);
    if (hasCode(error, "HUB_MOVED")) follow(current, index, error as WritError);
    if (hasCode(error, "HUB_UNREACHABLE")) this.#mayHaveMoved = true;
    return error as WritError;
  }

  async #open({ targets, open }: Current, index: number): Promise<OpenClient> {
    const known = open.get(index) ?? this.#deps.open(targets[index]!, this.clock);
    open.set(index, known);
    return known;
  }

  /** A hub that comes back may have another port or authority; both are in its home, so they are read again. */
  async #find(): Promise<Current> {
    if (this.#isClosed) throw clientClosed();
    if (this.#current !== undefined && !this.#mayHaveMoved) return this.#current;
    this.#mayHaveMoved = false;
    const before = this.#current;
    this.#current = this.#findAgain(before);
    // A failed attempt must not be kept, or every later call would fail with it again.
    this.#current.catch(() => {
      this.#current = undefined;
    });
    return this.#current;
  }

  async #findAgain(before: Promise<Current> | undefined): Promise<Current> {
    const targets = await this.#deps.find(this.#options);
    // Hubs that could not be found have no connection to keep.
    const current = await before?.catch(() => undefined);
    if (current !== undefined && isDeepStrictEqual(targets, current.found)) return current;
    if (current !== undefined) closeAll(current);
    const { clock, random } = this;
    const choice = new HubChoice(targets.length, { clock, random });
    return { found: targets, targets: [...targets], choice, open: new Map() };
  }
}

/** Every hub once, and also those that become known meanwhile. */
function* inTurn({ choice, targets }: Current): Generator<number> {
  const tried = new Set<number>();
  for (const index of choice.order()) {
    tried.add(index);
    yield index;
  }
  for (let index = 0; index < targets.length; index++) if (!tried.has(index)) yield index;
}

/** The new address has to show a certificate of the same authority, as every address has. */
function follow({ targets, choice }: Current, index: number, { details }: WritError): void {
  const from = targets[index]!;
  for (const { host, port } of parseGrpcAddresses(String(details?.["moved_to"] ?? ""))) {
    if (targets.length >= hubAddressesMax) return;
    if (targets.some((known) => known.host === host && known.port === port)) continue;
    const { url: _url, ...trust } = from;
    targets.push({ ...trust, host, port, from: "home" });
    choice.add();
  }
}

function closeAll({ open }: Current): void {
  // A connection that failed to open needs no closing.
  for (const opened of open.values()) void opened.then(({ close }) => close()).catch(() => {});
}

function noneReached(failures: readonly WritError[]): WritError {
  const refusal = failures.find((failure) => !hasCode(failure, "HUB_UNREACHABLE"));
  if (refusal !== undefined || failures.length === 1) return refusal ?? failures[0]!;
  const reasons = failures.map(({ message }) => message).join("; ");
  return new WritError("HUB_UNREACHABLE", `no hub can be reached (${reasons})`, failures[0]!.details);
}
