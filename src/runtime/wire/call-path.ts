import { backOffMs, withJitter } from "../clock/back-off.ts";
import type { Clock } from "../clock/clock.ts";
import type { ConnectionPool, PooledCall } from "../http/connection-pool.ts";
import type { ConnectOptions } from "../http/open-connection.ts";
import type { WholeResponse } from "../http/open-request.ts";
import { unsendable } from "../http/request-bytes.ts";
import { elsewhereStatus } from "./frame.ts";
import { openWire } from "./open-wire.ts";
import { WireConnection } from "./wire-connection.ts";

type CallPathOptions = {
  url: URL;
  tls?: ConnectOptions["tls"];
  clock: Clock;
  random: () => number;
  /** For calls over HTTP. */
  pool: ConnectionPool;
  /** False: every call goes over HTTP. */
  mayUpgrade: boolean;
};

/** A program that calls a few times and ends gains nothing from another connection. */
const callsBefore = 4;
/** A hub or a proxy that does not upgrade is asked again after this, because it may have been replaced. */
const refusedMs = 600_000;
/** After a connection that could not be opened, or did not last. */
const lostBackOff = { firstMs: 1_000, maxMs: 600_000 };
const lastsMs = 60_000;
/** A hub that stops is soon replaced by another process. */
const stoppedMs = 1_000;

/**
 * How calls reach one hub: in frames on one upgraded connection, and over HTTP until it is open, while it cannot be had,
 * and whenever a call does not fit. The caller notices no difference. Why: ADR 0126.
 */
export class CallPath {
  readonly #options: CallPathOptions;
  readonly #prefix: string;
  #wire: WireConnection | undefined;
  /** The headers that are the same for every call on the connection. */
  #common: Readonly<Record<string, string>> = {};
  #calls = 0;
  #failures = 0;
  #nextTryMs = 0;
  #isOpening = false;
  #isClosed = false;

  constructor(options: CallPathOptions) {
    this.#options = options;
    // A proxy that serves the hub below a path of its own does not see the paths in frames.
    this.#prefix = options.url.pathname.replace(/\/$/, "");
  }

  /** Resolves with every response, whatever its status. Rejects as `callWhole` does. */
  call(call: PooledCall): Promise<WholeResponse> {
    const wire = this.#wire;
    if (wire !== undefined && call.isAlone !== true) {
      const framed = { ...call, head: this.#headOf(call) };
      if (wire.takes(framed)) return this.#callOn(wire, framed, call);
    } else if (wire === undefined) this.#considerUpgrade(call);
    return this.#options.pool.call(call);
  }

  close(): void {
    this.#isClosed = true;
    this.#wire?.close();
    this.#options.pool.close();
  }

  async #callOn(
    wire: WireConnection,
    framed: Parameters<WireConnection["call"]>[0],
    call: PooledCall,
  ): Promise<WholeResponse> {
    const response = await wire.call(framed);
    return response.status === elsewhereStatus ? this.#options.pool.call(call) : response;
  }

  #headOf({ method, path, headers }: PooledCall): string {
    if (/[^\x21-\xff]/.test(path)) throw unsendable("the path");
    let head = `${method} ${path.slice(this.#prefix.length)}`;
    for (const name in headers) {
      const value = headers[name]!;
      if (this.#common[name] === value || (name === "content-type" && value === "application/json")) continue;
      if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw unsendable(`the header ${name}`);
      head += `\n${name}: ${value}`;
    }
    return head;
  }

  #considerUpgrade({ headers }: PooledCall): void {
    const { mayUpgrade, clock } = this.#options;
    if (!mayUpgrade || this.#isOpening || this.#isClosed || headers["authorization"] === undefined) return;
    if (++this.#calls <= callsBefore || clock.monotonicMs() < this.#nextTryMs) return;
    this.#isOpening = true;
    void this.#upgrade(headers).finally(() => {
      this.#isOpening = false;
    });
  }

  async #upgrade(headers: PooledCall["headers"]): Promise<void> {
    const { url, tls, clock, random } = this.#options;
    const common: Record<string, string> = {};
    for (const name of commonNames) if (headers[name] !== undefined) common[name] = headers[name];
    try {
      const upgraded = await openWire({ url, headers: common, clock, ...(tls && { tls }) });
      if (upgraded === null) {
        this.#nextTryMs = clock.monotonicMs() + withJitter(refusedMs, random);
        return;
      }
      const { socket, ...rest } = upgraded;
      const sinceMs = clock.monotonicMs();
      const onGone = ({ isPolite }: { isPolite: boolean }): void => this.#lost(sinceMs, isPolite);
      const wire = new WireConnection(socket, { ...rest, clock, onGone });
      if (this.#isClosed) return void wire.close();
      this.#common = common;
      this.#wire = wire;
    } catch {
      // The calls themselves go over HTTP, and say whether the hub can be reached.
      this.#rest(this.#failures++);
    }
  }

  #lost(sinceMs: number, isPolite: boolean): void {
    const { clock } = this.#options;
    this.#wire = undefined;
    const lasted = clock.monotonicMs() - sinceMs >= lastsMs;
    if (lasted || isPolite) this.#failures = 0;
    if (isPolite) this.#nextTryMs = clock.monotonicMs() + stoppedMs;
    else if (!lasted) this.#rest(this.#failures++);
  }

  #rest(failures: number): void {
    const { clock, random } = this.#options;
    this.#nextTryMs = clock.monotonicMs() + backOffMs(failures, { ...lostBackOff, random });
  }
}

/** They name the caller, and are the same for the calls of one client. */
const commonNames = ["authorization", "user-agent"];
