import { X509Certificate } from "node:crypto";
import type { Http2Session, Http2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import { WritError } from "../../core/errors.ts";
import { serialText } from "../certs/revocations.ts";
import { isBehind, readPeer } from "../certs/verify-peer.ts";
import { noteFailedLogin } from "../use-cases/access/note-failed-login.ts";
import type { Connection, RpcDeps } from "./call.ts";

/** The kernel notices dead peers; a client that is only quiet may stay. */
const keepAliveMs = 60_000;
/** With its default settings, TLS verifies no longer chains than this. */
const chainLengthMax = 101;

/** The identity at the other end of each connection, and a record of refused handshakes. */
export class Connections {
  readonly #deps: RpcDeps;
  readonly #bySession = new WeakMap<Http2Session, Connection>();
  readonly #sessions = new Set<Http2Session>();
  readonly #sockets = new Set<Socket>();
  readonly #addresses = new WeakMap<object, string>();
  /** Null until they change for the first time; before that only TLS knows them. */
  #authorities: X509Certificate[] | null = null;

  constructor(deps: RpcDeps) {
    this.#deps = deps;
  }

  /** A failed handshake leaves a socket without an address, so the address is recorded before. */
  readonly hearSocket = (socket: Socket): void => {
    socket.setKeepAlive(true, keepAliveMs);
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    if (socket.remoteAddress !== undefined) this.#addresses.set(socket, socket.remoteAddress);
  };

  /** The certificate is read from the socket of this connection; nothing is carried over from another. */
  readonly hearSession = (session: Http2Session): void => {
    const socket = session.socket as TLSSocket;
    const ipAddress = plainAddress(socket.remoteAddress);
    const peer = peerOn(socket, this.#beliefIn(session));
    this.#bySession.set(session, { peer, serial: serialOn(socket), ipAddress });
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    session.on("error", (error) => this.#deps.logger.debug({ err: error }, "a gRPC connection broke"));
  };

  readonly hearTlsError = (error: NodeJS.ErrnoException, socket: TLSSocket): void => {
    this.#deps.rpcMetrics.handshakesRefused.inc();
    const origin = {
      userId: null,
      ipAddress: plainAddress(socket.remoteAddress ?? this.#addressBehind(socket)),
      userAgent: null,
      endpoint: "gRPC",
      method: "TLS",
    };
    // Node reports the problem with a certificate only here, and elsewhere only that the connection was closed.
    const reason = socket.authorizationError as unknown as string | null;
    const details = { error: `TLS: ${reason || error.code || "handshake failed"}` };
    noteFailedLogin(this.#deps, origin, details).catch((failure) =>
      this.#deps.logger.error({ err: failure }, "a refused handshake could not be recorded"),
    );
  };

  of(stream: Http2Stream | undefined): Connection | null {
    return (stream?.session && this.#bySession.get(stream.session)) ?? null;
  }

  /** The authorities have changed. Clients of one that was removed are refused from their next call on. */
  believe(authorityPems: string[]): void {
    this.#authorities = authorityPems.map((pem) => new X509Certificate(pem));
  }

  /** Tells every client that no new calls are accepted, and lets current ones end. */
  closeAll(): void {
    for (const session of [...this.#sessions]) session.close();
  }

  /** The sockets, not the sessions: a closed session waits for a client that may never read or answer again. */
  destroyAll(): void {
    for (const socket of [...this.#sockets]) socket.destroy();
  }

  /**
   * Checks a connection again when it is used after a change, because checking all at once would hold up the hub. It
   * does not matter that TLS has just accepted it: its handshake may have begun before the change.
   */
  #beliefIn(session: Http2Session): () => boolean {
    let judgedBy: X509Certificate[] | null = null;
    let isBelieved = true;
    return () => {
      if (judgedBy === this.#authorities || this.#authorities === null || session.destroyed)
        return isBelieved;
      judgedBy = this.#authorities;
      isBelieved = isBehind(judgedBy, chainOn(session.socket as TLSSocket));
      return isBelieved;
    };
  }

  #addressBehind(socket: TLSSocket): string | undefined {
    const { _parent: parent } = socket as TLSSocket & { _parent?: object };
    return parent === undefined ? undefined : this.#addresses.get(parent);
  }
}

function peerOn(socket: TLSSocket, isBelieved: () => boolean): Connection["peer"] {
  try {
    if (!socket.authorized) throw new WritError("UNAUTHENTICATED", "the certificate is not trusted");
    return readPeer(socket.getPeerX509Certificate(), isBelieved);
  } catch (error) {
    return error instanceof WritError
      ? error
      : new WritError("UNAUTHENTICATED", "the certificate cannot be read");
  }
}

/** Also of a certificate that is refused: only its serial says which one it was. */
function serialOn(socket: TLSSocket): string | null {
  const certificate = socket.getPeerX509Certificate();
  return certificate === undefined ? null : serialText(certificate.serialNumber);
}

/** The chain that TLS has verified, from the client's own certificate up to the root, which is its own issuer. */
function chainOn(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let link: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (link?.raw !== undefined && chain.length < chainLengthMax) {
    chain.push(new X509Certificate(link.raw));
    link = link.issuerCertificate === link ? undefined : link.issuerCertificate;
  }
  return chain;
}

function plainAddress(address: string | undefined): string | null {
  return address?.replace(/^::ffff:/, "") ?? null;
}
