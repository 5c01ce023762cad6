import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../runtime/clock/clock.ts";
import { statusHeaders, statusOfError } from "../../runtime/grpc/call-status.ts";
import { tlsContext } from "../../runtime/http/tls.ts";
import { movedToHeader } from "../../runtime/hubs/moved-hub.ts";
import type { Service } from "../../runtime/service.ts";
import type { KeyPair } from "../certs/make-certificate.ts";
import { Http2Connections } from "../connections/http2-connections.ts";
import { limitAddresses } from "../connections/limit-addresses.ts";
import { listenForRpc } from "../rpc/server.ts";
import type { HubSettings } from "../settings/settings.ts";
import { movedError } from "./tell-moved.ts";

type Moved = {
  pair: KeyPair;
  to: readonly string[];
  toGrpc: string;
  /** Called with the headers of each call. */
  onCall(headers: IncomingHttpHeaders): void;
};

const connectionsMax = 10_000;

/** The gRPC port of a hub that has moved. A caller learns the new address without a certificate. Why: ADR 0090. */
export class ForwardingRpc implements Service {
  readonly name = "gRPC server";
  readonly #settings: HubSettings;
  readonly #server: Http2SecureServer;
  readonly #open: Http2Connections;

  constructor(
    { settings, clock }: { settings: HubSettings; clock: Clock },
    { pair, to, toGrpc, onCall }: Moved,
  ) {
    const headers = {
      ":status": 200,
      "content-type": "application/grpc+proto",
      ...statusHeaders(statusOfError(movedError(to))),
      [movedToHeader]: toGrpc,
    };
    this.#settings = settings;
    this.#server = createSecureServer({ ...tlsContext(pair), allowHTTP1: false, ALPNProtocols: ["h2"] });
    this.#server.maxConnections = connectionsMax;
    this.#server.on("session", (session) => session.on("error", () => {}));
    this.#server.on("stream", (stream: ServerHttp2Stream, called: IncomingHttpHeaders) => {
      onCall(called);
      stream.on("error", () => {});
      stream.respond(headers, { endStream: true });
      // The message of the call is dropped.
      stream.resume();
    });
    this.#open = new Http2Connections(this.#server, { clock, onError: () => {} });
    limitAddresses(this.#server, settings, () => {});
  }

  async start(): Promise<void> {
    await listenForRpc(this.#server, this.#settings);
    await this.#open.start();
  }

  async stop(): Promise<void> {
    await this.#open.stop();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#open.destroyAll();
    await closed;
  }

  /** Once it has started. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }
}
