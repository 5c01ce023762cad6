import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { Code } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { JobService } from "../../contract/gen/writ/v1/job_service_pb.js";
import { WritError } from "../../core/errors.ts";
import type { Service } from "../../runtime/service.ts";
import { tlsContext } from "../../runtime/tls.ts";
import type { KeyPair } from "../certs/make-certificate.ts";
import { RevocationList } from "../certs/revocations.ts";
import type { HubDeps } from "../deps.ts";
import { contextOf, type RpcDeps } from "./call.ts";
import { Connections } from "./connections.ts";
import { jobService } from "./job-service.ts";
import { OpenCalls } from "./open-calls.ts";
import { addReflection } from "./reflection.ts";
import { createRpcMetrics } from "./rpc-metrics.ts";
import { withPlainStatus } from "./status-message.ts";
import { serveStreamOutput, streamOutputPath } from "./stream-output.ts";

type RpcTrust = {
  pair: KeyPair;
  /** The authorities whose client certificates are accepted, as PEM. */
  clientAuthorities: string[];
};

const messageBytesMax = 4 * 1024 * 1024;
/** With the default window of 64 KiB, every stream would wait for its client's round trip. */
const windowBytes = 1024 * 1024;
const streamsPerConnectionMax = 256;
const headerBytesMax = 16 * 1024;
const connectionsMax = 10_000;
/** How long calls may continue when the hub stops. */
const stopGraceMs = 3_000;

/** The gRPC port: TLS is our own, so that no framework's default decides who gets in. */
export class RpcServer implements Service {
  readonly name = "gRPC server";
  readonly #hub: HubDeps;
  readonly #calls: OpenCalls;
  readonly #connections: Connections;
  readonly #server: Http2SecureServer;
  #trust: RpcTrust;

  constructor(hub: HubDeps, { revokedFile, ...trust }: RpcTrust & { revokedFile: string }) {
    this.#hub = hub;
    this.#trust = trust;
    this.#calls = new OpenCalls(hub.clock, (error) =>
      hub.logger.error({ err: error }, "an open call could not be checked"),
    );
    const rpcMetrics = createRpcMetrics(hub.metrics, () => this.#calls.size);
    const deps: RpcDeps = {
      ...hub,
      revoked: new RevocationList(revokedFile),
      calls: this.#calls,
      rpcMetrics,
    };
    this.#connections = new Connections(deps);
    this.#server = createServer(trust, answerer(deps, this.#connections));
    this.#server.maxConnections = connectionsMax;
    this.#server.on("connection", this.#connections.hearSocket);
    this.#server.on("session", this.#connections.hearSession);
    this.#server.on("tlsClientError", this.#connections.hearTlsError);
  }

  async start(): Promise<void> {
    await listen(this.#server, this.#hub.settings);
    await this.#calls.start();
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#calls.stop();
    this.#connections.closeAll();
    const giveUp = this.#hub.clock.setTimer(() => this.#connections.destroyAll(), stopGraceMs);
    await closed;
    giveUp.cancel();
  }

  /** Once it has started. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** New connections use this pair; open ones continue. */
  showPair(pair: KeyPair): void {
    this.#change({ ...this.#trust, pair });
  }

  /** The client authorities have changed. Open connections continue, unless theirs was removed. */
  believe(clientAuthorities: string[]): void {
    this.#change({ ...this.#trust, clientAuthorities });
    this.#connections.believe(clientAuthorities);
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
      rejectUnauthorized: true,
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
  const adapter = connectNodeAdapter({
    grpc: true,
    grpcWeb: false,
    connect: false,
    // A small message that decompresses to a huge one is never decompressed.
    acceptCompression: [],
    readMaxBytes: messageBytesMax,
    writeMaxBytes: messageBytesMax,
    fallback: (_request, response) => refuseUnknown(response as Http2ServerResponse),
    contextValues: (request) => contextOf(connections.of((request as Http2ServerRequest).stream)),
    routes: (router) => {
      router.service(JobService, jobService(deps));
      addReflection(router, deps);
    },
  });
  return (request, response) => {
    const connection = connections.of(request.stream);
    const isStream = request.url === streamOutputPath && isGrpcPost(request);
    if (!isStream) return adapter(request, withPlainStatus(response));
    void serveStreamOutput(deps, connection, { request, response });
  };
}

/** As gRPC requires: a status and no body, in one block of headers. */
function refuseUnknown(response: Http2ServerResponse): void {
  response.writeHead(200, {
    "content-type": "application/grpc",
    "grpc-status": String(Code.Unimplemented),
    "grpc-message": "there is no such method; server reflection lists them",
  });
  response.end();
}

function isGrpcPost({ method, headers }: Http2ServerRequest): boolean {
  return method === "POST" && /^application\/grpc(\+proto)?$/.test(headers["content-type"] ?? "");
}

function listen(server: Http2SecureServer, { grpcPort, host }: HubDeps["settings"]): Promise<void> {
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
