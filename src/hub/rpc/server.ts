import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { WritError } from "../../core/errors.ts";
import { tlsContext } from "../../runtime/http/tls.ts";
import type { Service } from "../../runtime/service.ts";
import type { KeyPair } from "../certs/make-certificate.ts";
import { gateListeners } from "../connections/gate-listeners.ts";
import { Http2Connections } from "../connections/http2-connections.ts";
import { limitAddresses } from "../connections/limit-addresses.ts";
import { noteAddressLimit } from "../connections/note-address-limit.ts";
import type { HubDeps } from "../deps.ts";
import type { RpcDeps } from "./call.ts";
import { Connections } from "./connections.ts";
import { HandshakeGate } from "./handshake-gate.ts";
import { jobService } from "./job-service.ts";
import { OpenCalls } from "./open-calls.ts";
import { reflection } from "./reflection.ts";
import { createRpcMetrics } from "./rpc-metrics.ts";
import type { Serve } from "./serve-call.ts";
import { unknownMethod } from "./serve-unary.ts";
import { TlsAlerts } from "./tls-alert.ts";

type RpcTrust = {
  pair: KeyPair;
  /** The authorities whose client certificates are accepted, as PEM. */
  clientAuthorities: string[];
};

/** With the default window of 64 KiB, every stream would wait for its client's round trip. */
const windowBytes = 1024 * 1024;
const streamsPerConnectionMax = 256;
const headerBytesMax = 16 * 1024;
const connectionsMax = 10_000;
/** How long calls may continue when the hub stops. */
const stopGraceMs = 3_000;

/**
 * The gRPC port. It configures TLS itself, so that no framework's default decides which callers are accepted. Why: ADR
 * 0011, ADR 0038.
 */
export class RpcServer implements Service {
  readonly name = "gRPC server";
  readonly #hub: HubDeps;
  readonly #calls: OpenCalls;
  readonly #connections: Connections;
  readonly #open: Http2Connections;
  readonly #server: Http2SecureServer;
  #trust: RpcTrust;

  constructor(hub: HubDeps, trust: RpcTrust) {
    this.#hub = hub;
    this.#trust = trust;
    this.#calls = new OpenCalls(hub.clock, (error) =>
      hub.failures.error(error, "an open call could not be checked"),
    );
    const rpcMetrics = createRpcMetrics(hub.metrics, () => this.#calls.size);
    const deps: RpcDeps = { ...hub, calls: this.#calls, rpcMetrics };
    this.#connections = new Connections(deps);
    this.#server = createServer(trust, answerer(deps, this.#connections));
    this.#server.maxConnections = connectionsMax;
    this.#server.on("connection", this.#connections.onConnection);
    this.#server.on("session", this.#connections.onSession);
    this.#open = new Http2Connections(this.#server, {
      clock: hub.clock,
      onError: (error) => hub.failures.error(error, "open gRPC connections could not be checked"),
      rightsNow: this.#connections.rightsNow,
    });
    const gate = new HandshakeGate(deps, this.#connections, new TlsAlerts(this.#server, hub.clock));
    this.#server.on("tlsClientError", gate.onTlsError);
    gateListeners(this.#server, "secureConnection", gate.admits);
    limitAddresses(this.#server, hub.settings, noteAddressLimit(hub, "gRPC"));
  }

  async start(): Promise<void> {
    await listenForRpc(this.#server, this.#hub.settings);
    await this.#calls.start();
    await this.#open.start();
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#open.stop();
    await this.#calls.stop();
    this.#open.closeAll();
    const giveUp = this.#hub.clock.setTimer(() => this.#open.destroyAll(), stopGraceMs);
    await closed;
    giveUp.cancel();
  }

  /** Once it has started. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Sets the pair for new connections; open ones continue. */
  showPair(pair: KeyPair): void {
    this.#change({ ...this.#trust, pair });
  }

  /** Sets the client authorities. Open connections continue, unless theirs was removed. */
  setClientAuthorities(clientAuthorities: string[]): void {
    this.#change({ ...this.#trust, clientAuthorities });
    this.#connections.setClientAuthorities(clientAuthorities);
  }

  #change(trust: RpcTrust): void {
    this.#server.setSecureContext(contextFor(trust));
    this.#trust = trust;
  }
}

type Answer = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

function createServer(trust: RpcTrust, answer: Answer): Http2SecureServer {
  return createSecureServer(
    {
      ...contextFor(trust),
      requestCert: true,
      // The gate refuses them with a reason, which Node would not give.
      rejectUnauthorized: false,
      allowHTTP1: false,
      ALPNProtocols: ["h2"],
      settings: {
        initialWindowSize: windowBytes,
        maxConcurrentStreams: streamsPerConnectionMax,
        maxHeaderListSize: headerBytesMax,
        enablePush: false,
      },
      maxHeaderListPairs: 100,
    },
    answer,
  );
}

function contextFor({ pair, clientAuthorities }: RpcTrust) {
  return { ...tlsContext(pair), ca: clientAuthorities };
}

function answerer(deps: RpcDeps, connections: Connections): Answer {
  const methods = new Map<string, Serve>([...jobService(deps), ...reflection(deps)]);
  const unknown = unknownMethod(deps);
  return (request, response) => {
    if (!isGrpcPost(request)) return refuseOther(request, response);
    const serve = methods.get(request.url) ?? unknown;
    serve(connections.of(request.stream), { request, response }).catch((error) =>
      deps.failures.error(error, "a call could not be answered"),
    );
  };
}

/** A caller that does not speak gRPC, for example a browser, gets the HTTP status that gRPC prescribes. */
function refuseOther(request: Http2ServerRequest, response: Http2ServerResponse): void {
  response.writeHead(request.method === "POST" ? 415 : 405);
  response.end();
}

function isGrpcPost({ method, headers }: Http2ServerRequest): boolean {
  return method === "POST" && /^application\/grpc(\+proto)?$/.test(headers["content-type"] ?? "");
}

export function listenForRpc(
  server: Http2SecureServer,
  { grpcPort, host }: Pick<HubDeps["settings"], "grpcPort" | "host">,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const advice =
        error.code === "EADDRINUSE"
          ? "it is in use; choose another with --grpc-port or WRIT_GRPC_PORT"
          : error.message;
      reject(new WritError("CONFIG_INVALID", `cannot listen on ${host}:${grpcPort}: ${advice}`));
    });
    server.listen(grpcPort, host, resolve);
  });
}
