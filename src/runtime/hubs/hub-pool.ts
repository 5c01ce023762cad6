import { WritError } from "../../core/errors.ts";
import { backOffMs } from "../clock/back-off.ts";
import { type Clock, systemClock } from "../clock/clock.ts";
import { ConnectionFailure } from "../http/connection-failure.ts";
import { ConnectionPool } from "../http/connection-pool.ts";
import { connectionTo, connectMsMax } from "../http/open-connection.ts";
import type { FindConnection } from "../http/open-request.ts";
import { CallPath } from "../wire/call-path.ts";
import { hubAddressesMax, joinPath, listHubAddresses, parseHubAddress } from "./hub-address.ts";
import { HubChoice } from "./hub-choice.ts";
import { HubPulse } from "./hub-pulse.ts";
import { readMovedTo } from "./moved-hub.ts";
import { unreachableAdvice } from "./unreachable-advice.ts";

export type HubPoolOptions = {
  /** One or more hubs of one installation: they serve the same queue with the same keys. */
  baseUrls: readonly string[];
  /** PEM of the authority that signed the hubs' certificates. */
  ca?: string | undefined;
  allowInsecure?: boolean | undefined;
  /** How many calls can be on their way to one hub at once over HTTP. */
  connectionsMax?: number;
  /** Whether calls may go in frames on one upgraded connection (default: they do, where the hub accepts that). */
  frames?: boolean | undefined;
  /** How long a call tries all hubs again and again, if it may be repeated (default: it tries each once). */
  patienceMs?: number | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  /** Another hub is used from now on. */
  onMove?: ((move: HubMove) => void) | undefined;
};

export type HubMove = {
  to: string;
  why: string;
  /** Whether the address was given by a hub that has moved. */
  isNewAddress: boolean;
};

/** One hub and the connections to it. */
export type PooledHub = {
  url: URL;
  calls: CallPath;
  /** A stream holds its connection for hours; in the shared pool it would starve the short calls. */
  streamConnection: FindConnection;
  /** Only with several hubs. */
  pulse: HubPulse | undefined;
  /** Whether it was given to this client, or has accepted a call since another hub named it. */
  isProven: boolean;
  /** A stream from this hub has broken off. */
  failed(): void;
};

type PoolCall<T> = {
  attempt(hub: PooledHub): Promise<T>;
  /** Whether this answer only says that the hub, or a proxy before it, cannot answer at present. */
  isAway: (answer: NoInfer<T>) => boolean;
  /** The new addresses, if this answer only says that the hub has moved. Such a call has not been acted on. */
  movedTo: (answer: NoInfer<T>) => string | undefined;
  /** Whether the hub does not know who calls. */
  isUnknown: (answer: NoInfer<T>) => boolean;
  /** Whether the call may reach a hub twice. One that may not is never sent again once it may have arrived. */
  mayRepeat: boolean;
  /** What the call is, for an error. */
  what: string;
  signal?: AbortSignal | undefined;
};

// Enough for every slot of a large worker, and far below the descriptor limit of a process.
const connectionsMaxDefault = 256;
const roundPause = { firstMs: 100, maxMs: 2_000 };
const pulseAnswerMsMax = 4_000;
const pulseBytesMax = 64 * 1024;

/** The hubs that a client may call. It stays with the one that answers. Why: ADR 0082, ADR 0090. */
export class HubPool {
  readonly #hubs: PooledHub[];
  readonly #choice: HubChoice;
  readonly #options: HubPoolOptions;
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor(options: HubPoolOptions) {
    const { allowInsecure = false, clock = systemClock, random = Math.random } = options;
    const addresses = listHubAddresses(options.baseUrls, { allowInsecure });
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#choice = new HubChoice(addresses.length, { clock, random });
    this.#hubs = addresses.map((address, index) => this.#openHub(address, index));
    this.#watchPulses();
  }

  /** The address of the hub that answered last, or that will be called first. */
  get current(): string {
    return addressOf(this.#hubs[this.#choice.current]!);
  }

  /** How often another hub was taken. */
  get moves(): number {
    return this.#choice.moves;
  }

  /** Calls the current hub. If it cannot answer, each other one is tried at once, and all again after a pause. */
  async try<T>(call: PoolCall<T>): Promise<T> {
    const endMs = this.#clock.monotonicMs() + (this.#options.patienceMs ?? 0);
    for (let rounds = 0; ; rounds++) {
      const round = await this.#tryEach(call);
      if (round.isServed) return round.answer;
      const pauseMs = backOffMs(rounds, { ...roundPause, random: this.#random });
      if (this.#clock.monotonicMs() + pauseMs >= endMs) return this.#finalAnswer(round);
      await this.#clock.sleep(pauseMs, call.signal);
    }
  }

  close(): void {
    for (const { calls, pulse } of this.#hubs) {
      calls.close();
      pulse?.close();
    }
  }

  async #tryEach<T>(call: PoolCall<T>): Promise<Round<T>> {
    const round: Round<T> & { isServed: false } = { isServed: false, failures: [], refusal: undefined };
    const tried = new Set<number>();
    const waiting = this.#choice.order();
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      if (tried.has(index)) continue;
      tried.add(index);
      const hub = this.#hubs[index]!;
      try {
        const answer = await tryOne(hub, call);
        const moved = call.movedTo(answer);
        if (moved !== undefined) {
          waiting.unshift(...this.#follow(hub, moved, round.failures));
          this.#choice.failed(index);
          continue;
        }
        // Somebody may have named the hub of another installation by mistake; only a hub of this one can say who is unknown.
        if (!hub.isProven && call.isUnknown(answer)) {
          round.failures.push(`${addressOf(hub)}: does not accept the token`);
          this.#choice.failed(index);
          continue;
        }
        if (!call.isAway(answer) || !call.mayRepeat) {
          hub.isProven = true;
          this.#answered(index, round.failures);
          return { isServed: true, answer };
        }
        round.refusal = { answer };
        round.failures.push(`${addressOf(hub)}: cannot answer at present`);
      } catch (error) {
        if (!(error instanceof ConnectionFailure)) throw error;
        round.failures.push(`${addressOf(hub)}: ${error.message}`);
        round.advice ??= unreachableAdvice(hub.url, error.message);
        if (error.wasSent && !call.mayRepeat) {
          this.#choice.failed(index);
          throw outcomeUnknown(call.what, round.failures);
        }
      }
      this.#choice.failed(index);
    }
    return round;
  }

  /** Where a hub that has moved is now. What it names is known from now on; its own address may be of use again. */
  #follow(hub: PooledHub, moved: string, failures: string[]): number[] {
    try {
      const addresses = readMovedTo(moved, hub.url);
      const isNew = (address: string): boolean => this.#indexOf(address) === -1;
      if (this.#hubs.length + addresses.filter(isNew).length > hubAddressesMax)
        throw new WritError("CONFIG_INVALID", `at most ${hubAddressesMax} addresses are kept`);
      failures.push(`${addressOf(hub)}: has moved to ${addresses.join(", ")}`);
      for (const address of addresses) {
        if (!isNew(address)) continue;
        this.#hubs.push({ ...this.#openHub(address, this.#choice.add()), isProven: false });
      }
      this.#watchPulses();
      return addresses.map((address) => this.#indexOf(address));
    } catch (error) {
      if (!(error instanceof WritError)) throw error;
      failures.push(`${addressOf(hub)}: has moved, but its new address is refused: ${error.message}`);
      return [];
    }
  }

  #indexOf(address: string): number {
    return this.#hubs.findIndex((hub) => addressOf(hub) === address);
  }

  #openHub(address: string, index: number): PooledHub {
    return openHub(address, this.#options, () => this.#choice.failed(index));
  }

  /** With one hub there is no other to move to, so its health is not asked for. */
  #watchPulses(): void {
    if (this.#hubs.length === 1) return;
    for (const hub of this.#hubs) hub.pulse ??= pulseOf(hub, this.#clock);
  }

  #answered(index: number, failures: readonly string[]): void {
    const before = this.#choice.moves;
    this.#choice.answered(index);
    if (this.#choice.moves === before) return;
    const why = failures.join("; ") || "the hub before it could not be reached";
    const isNewAddress = index >= this.#options.baseUrls.length;
    this.#options.onMove?.({ to: this.current, why, isNewAddress });
  }

  /** An answer of a hub, even one of no use, explains more than that other hubs could not be reached. */
  #finalAnswer<T>({ refusal, failures, advice }: Round<T> & { isServed: false }): T {
    if (refusal !== undefined) return refusal.answer;
    throw new WritError("HUB_UNREACHABLE", `no hub can be reached (${failures.join("; ")})`, {
      urls: this.#hubs.map(({ url }) => url.origin),
      ...(advice && { advice }),
    });
  }
}

type Round<T> =
  | { isServed: true; answer: T }
  | { isServed: false; failures: string[]; refusal: { answer: T } | undefined; advice?: string | undefined };

/** With one extra turn, because a kept connection that was closed in the meantime says nothing about its hub. */
async function tryOne<T>(hub: PooledHub, call: PoolCall<T>): Promise<T> {
  try {
    return await call.attempt(hub);
  } catch (error) {
    if (!(error instanceof ConnectionFailure) || !error.wasStale || !call.mayRepeat) throw error;
    return call.attempt(hub);
  }
}

function outcomeUnknown(what: string, failures: readonly string[]): WritError {
  const message = `${what} was sent, but no answer came (${failures.at(-1)}); it may have been done`;
  return new WritError("OUTCOME_UNKNOWN", message, { advice: "look whether it was, before you repeat it" });
}

function addressOf({ url }: PooledHub): string {
  return url.origin + url.pathname.replace(/\/$/, "");
}

function openHub(address: string, options: HubPoolOptions, failed: () => void): PooledHub {
  const { allowInsecure = false, ca, connectionsMax = connectionsMaxDefault } = options;
  const { clock = systemClock, random = Math.random, frames: mayUpgrade = true } = options;
  const url = parseHubAddress(address, { allowInsecure });
  const tls = { ca, minVersion: "TLSv1.3" } as const;
  const pool = new ConnectionPool({ url, tls, connectionsMax });
  return {
    url,
    failed,
    isProven: true,
    pulse: undefined,
    calls: new CallPath({ url, tls, clock, random, pool, mayUpgrade }),
    streamConnection: connectionTo(url, { clock, tls, connectMs: connectMsMax }),
  };
}

/**
 * Any answer is a sign of life, except that of a hub without its database: what waits there may be served by another.
 * It is asked for on a connection of its own, and without the token.
 */
function pulseOf({ url, calls }: PooledHub, clock: Clock): HubPulse {
  const path = joinPath(url, "/healthz");
  const limits = { timeoutMs: pulseAnswerMsMax, responseBytesMax: pulseBytesMax, signal: undefined };
  const request = { method: "GET", path, headers: {}, body: undefined, isAlone: true };
  return new HubPulse({
    clock,
    async ask() {
      const { status } = await calls.call({ ...request, ...limits, clock });
      if (status === 503) throw new Error("the hub cannot use its database");
    },
  });
}
