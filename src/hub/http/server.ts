import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { tlsContext } from "../../runtime/http/tls.ts";
import { isLoopback } from "../../runtime/hubs/hub-address.ts";
import type { Service } from "../../runtime/service.ts";
import type { KeyPair } from "../certs/make-certificate.ts";
import { limitAddresses } from "../connections/limit-addresses.ts";
import type { HubSettings } from "../settings/settings.ts";
import { LateRequests } from "./bodies/late-requests.ts";
import { keepAliveMs } from "./keep-alive.ts";
import type { Listener } from "./listener.ts";

/** The headers of a request must arrive within ten seconds; `LateRequests` says how long the rest may take. */
const headersTimeoutMs = 10_000;
/** How often Node looks for requests that are too late. */
const lateCheckMs = 5_000;
/** As on the gRPC port. */
const connectionsMax = 10_000;
/** How long open calls may take to end when the hub stops. */
const stopGraceMs = 3_000;
/** After this time of silence the kernel asks whether the other side is still there. */
const silenceMs = 60_000;

/**
 * Half a year. A browser that has seen this header does not connect without TLS again; it ignores the header if it does
 * not trust the certificate.
 */
const strictTransport = "max-age=15768000";

type HttpServerDeps = {
  settings: HubSettings;
  clock: Clock;
  /** Called when an address already has all the connections that it is allowed. */
  onAddressLimit(address: string): void;
  /** Connections that leave HTTP for another protocol. */
  upgrades?: Upgrades;
};

type Upgrades = {
  /** False: the request is served as if it asked for no upgrade. */
  isAsked(incoming: IncomingMessage): boolean;
  upgrade(incoming: IncomingMessage, socket: Duplex, early: Buffer): Promise<void>;
};

/**
 * The HTTP port. It uses TLS 1.3 if other machines can reach it, unless WRIT_PLAINTEXT says that a proxy is in front.
 */
export class HttpServer implements Service {
  readonly name = "HTTP server";
  readonly #settings: HubSettings;
  readonly #server: Server;
  readonly #late: LateRequests;
  /** The same server, if it uses TLS. */
  readonly #tlsServer: TlsServer | null;

  constructor(answer: Listener, deps: HttpServerDeps, pair: KeyPair) {
    const { settings, clock, onAddressLimit, upgrades } = deps;
    this.#late = new LateRequests(clock);
    const listener: Listener = (incoming, outgoing) => {
      // Otherwise a client that keeps calling on one connection would keep a stopping hub busy.
      if (!this.#server.listening) outgoing.shouldKeepAlive = false;
      if (this.#tlsServer !== null) outgoing.setHeader("Strict-Transport-Security", strictTransport);
      this.#late.watch(incoming);
      answer(incoming, outgoing);
    };
    const options = {
      requestTimeout: 0,
      headersTimeout: headersTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: lateCheckMs,
      keepAlive: true,
      keepAliveInitialDelay: silenceMs,
      shouldUpgradeCallback: (incoming: IncomingMessage) => upgrades?.isAsked(incoming) ?? false,
    };
    this.#settings = settings;
    this.#tlsServer = speaksTls(settings)
      ? createTlsServer({ ...options, ...tlsContext(pair) }, listener)
      : null;
    this.#server = this.#tlsServer ?? createServer(options, listener);
    this.#server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, early: Buffer) => {
      void upgrades?.upgrade(incoming, socket, early);
    });
    this.#server.maxConnections = connectionsMax;
    limitAddresses(this.#server, settings, onAddressLimit);
  }

  start(): Promise<void> {
    this.#late.start();
    return listen(this.#server, this.#settings);
  }

  /** Open calls may end; idle connections are closed at once. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => {
        this.#late.stop();
        resolve();
      });
      this.#server.closeIdleConnections();
      setTimeout(() => this.#server.closeAllConnections(), stopGraceMs).unref();
    });
  }

  /** Once it has started. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return urlOf(this.#settings, this.port);
  }

  /**
   * The address for programs on this machine, past any proxy. Undefined if the certificate has other names, or if
   * programs would have to send their token unencrypted over a network.
   */
  get localUrl(): string | undefined {
    const { tlsCert } = this.#settings;
    const url = localUrlOf(this.#settings, this.port);
    const isSafe = url.startsWith("https:") || isLoopback(new URL(url).hostname);
    return tlsCert === null && isSafe ? url : undefined;
  }

  /** New connections use this pair; open ones continue. Nothing changes without TLS. */
  showPair(pair: KeyPair): void {
    this.#tlsServer?.setSecureContext(tlsContext(pair));
  }
}

/** The address of a hub with these settings. */
export function urlOf(settings: HubSettings, port: number): string {
  return settings.publicUrl ?? localUrlOf(settings, port);
}

function localUrlOf(settings: HubSettings, port: number): string {
  return `${speaksTls(settings) ? "https" : "http"}://${reachableHost(settings.host)}:${port}`;
}

function speaksTls({ tlsCert, host, plaintext }: HubSettings): boolean {
  return tlsCert !== null || !(isLoopback(host) || plaintext);
}

/** An address for all interfaces cannot be called; on this machine the hub is reached over loopback. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

function listen(server: Server, settings: HubSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(cannotListen(error, settings)));
    server.listen(settings.port, settings.host, resolve);
  });
}

function cannotListen(error: NodeJS.ErrnoException, { port, host }: HubSettings): WritError {
  const advice =
    error.code === "EADDRINUSE" ? "it is in use; choose another with --port or PORT" : error.message;
  return new WritError("CONFIG_INVALID", `cannot listen on ${host}:${port}: ${advice}`);
}
