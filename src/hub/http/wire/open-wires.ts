import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WritError } from "../../../core/errors.ts";
import { repeat, type Service, together } from "../../../runtime/service.ts";
import {
  readLimits,
  type WireLimits,
  wireHeader,
  wirePath,
  wireProtocol,
  writeLimits,
} from "../../../runtime/wire/frame.ts";
import type { WireReason } from "../../../runtime/wire/wire-problem.ts";
import { authenticate, type Credentials, identityOf } from "../../use-cases/access/authenticate.ts";
import { recordDenial } from "../../use-cases/access/record-denial.ts";
import type { App } from "../app.ts";
import type { HttpDeps } from "../call.ts";
import { checkSite, credentialsOf, originOf } from "../credentials.ts";
import { type Exchange, newExchange, targetOf } from "../exchange.ts";
import { logCall } from "../log-call.ts";
import { checkHost, refuse } from "../refuse.ts";
import { anonymous } from "../serve-route.ts";
import { FramedRequests } from "./framed-request.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";
import { ServedWire, servedLimits } from "./served-wire.ts";

const lookMs = 2_000;
/** A connection whose token was revoked or has expired ends within 5 s. */
const checkMs = 4_000;
/** How long open requests may take to end when the hub stops, as over HTTP. */
const stopGraceMs = 3_000;

type OpenWire = { wire: ServedWire; credentials: Credentials };

/** Every connection whose requests come in frames. Why: ADR 0126. */
export class OpenWires implements Service {
  readonly name = "connections with frames";
  readonly #deps: HttpDeps;
  readonly #app: App;
  readonly #open = new Set<OpenWire>();
  readonly #looks: Service;
  readonly #empty = Promise.withResolvers<void>();
  #isStopping = false;

  constructor(deps: HttpDeps, app: App) {
    this.#deps = deps;
    this.#app = app;
    const { clock } = deps;
    const onError = (error: unknown): void =>
      deps.failures.error(error, "a connection with frames could not be checked");
    // Two loops, so that a database that hangs delays only the one that queries it.
    this.#looks = together(this.name, [
      repeat({ name: "frames in time", intervalMs: lookMs, clock, onError }, async () => {
        for (const { wire } of this.#open) wire.look();
      }),
      repeat({ name: "frames still allowed", intervalMs: checkMs, clock, onError }, () =>
        this.#checkTokens(),
      ),
    ]);
  }

  start(): Promise<void> {
    return this.#looks.start();
  }

  /** Requests that have arrived are answered, within the time that HTTP gives them. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#looks.stop();
    for (const { wire } of [...this.#open]) wire.stop();
    if (this.#open.size > 0) {
      const timer = this.#deps.clock.setTimer(() => this.#empty.resolve(), stopGraceMs);
      await this.#empty.promise;
      timer.cancel();
    }
    for (const { wire } of [...this.#open]) wire.destroy();
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether a request asks for this upgrade. Any other is answered as if it had not asked for one. */
  isAsked({ method, url, headers }: IncomingMessage): boolean {
    return (
      this.#deps.settings.frames &&
      method === "GET" &&
      url === wirePath &&
      headers.upgrade?.toLowerCase() === wireProtocol
    );
  }

  /** Takes over the connection, or refuses with an answer over HTTP. */
  async upgrade(incoming: IncomingMessage, socket: Duplex, early: Buffer): Promise<void> {
    socket.on("error", () => {});
    const exchange = newExchange(targetOf(wirePath), { incoming, outgoing: socket, via: { body: early } });
    try {
      const { credentials, limits } = await this.#admit(incoming, exchange);
      if (socket.destroyed) return;
      if (this.#isStopping) throw new WritError("SHUTTING_DOWN", "the hub is stopping");
      logCall(this.#deps, exchange, 101);
      this.#begin(socket, { incoming, credentials, limits, early });
    } catch (error) {
      const reply = await refuse(this.#deps, exchange, error);
      logCall(this.#deps, exchange, reply.status);
      refuseUpgrade(socket, reply);
    }
  }

  async #admit(
    incoming: IncomingMessage,
    exchange: Exchange,
  ): Promise<{ credentials: Credentials; limits: WireLimits }> {
    const deps = this.#deps;
    const origin = originOf(incoming, deps.settings, { method: "GET", endpoint: "/frames" });
    const caller = { identity: anonymous, origin };
    try {
      checkHost(incoming);
      if (incoming.headers.origin !== undefined) checkSite(incoming, deps.settings);
      // Never the session cookie: a browser sends that by itself.
      const credentials = { bearer: credentialsOf(deps, incoming).bearer, session: null };
      const identity = await authenticate(deps, credentials, origin);
      exchange.identity = identity;
      const limits = readLimits(String(incoming.headers[wireHeader] ?? ""));
      if (limits === null)
        throw new WritError("INVALID_ARGUMENT", `${wireHeader}: must be like ${writeLimits(servedLimits)}`);
      return { credentials, limits };
    } catch (error) {
      throw await recordDenial(deps, caller, error);
    }
  }

  #begin(
    socket: Duplex,
    request: { incoming: IncomingMessage; credentials: Credentials; limits: WireLimits; early: Buffer },
  ): void {
    const { metrics, clock, failures } = this.#deps;
    const { incoming, credentials, limits, early } = request;
    const upgraded = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${wireProtocol}\r\n`;
    socket.write(`${upgraded}${wireHeader}: ${writeLimits(servedLimits)}\r\n\r\n`);
    const wire = new ServedWire(socket, {
      requests: new FramedRequests(incoming),
      credit: limits.credit,
      clock,
      answer: this.#app,
      onError: (error) => failures.error(error, "a request in a frame could not be answered"),
      onGone: (reason) => this.#forget(open, reason),
    });
    const open = { wire, credentials };
    this.#open.add(open);
    metrics.frameConnections.inc();
    if (early.length > 0) wire.receive(early);
  }

  #forget(open: OpenWire, reason: WireReason | "ended"): void {
    if (!this.#open.delete(open)) return;
    if (this.#isStopping && this.#open.size === 0) this.#empty.resolve();
    this.#deps.metrics.frameConnections.dec();
    this.#deps.metrics.frameCloses.inc({ reason });
  }

  /** If the database does not answer, no right can be checked: connections stay open, and each request is checked. */
  async #checkTokens(): Promise<void> {
    for (const { wire, credentials } of [...this.#open]) {
      if ((await identityOf(this.#deps, credentials)) !== null) continue;
      wire.close("token-refused", "the token was revoked or has expired");
    }
  }
}
