import { X509Certificate } from "node:crypto";
import type { Http2Session, Http2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import { WritError } from "../../core/errors.ts";
import {
  type CertificateValidity,
  isBehind,
  problemWith,
  readPeer,
  validityOf,
} from "../certs/verify-peer.ts";
import { socketBelow } from "../connections/http2-connections.ts";
import { plainAddress } from "../connections/limit-addresses.ts";
import type { Connection, RpcDeps } from "./call.ts";

/** With its default settings, TLS verifies no longer chains than this. */
const chainLengthMax = 101;

type KnownConnection = Connection & { certificate: CertificateValidity | null };

/** The identity at the other end of each connection. */
export class Connections {
  readonly #deps: RpcDeps;
  readonly #bySession = new WeakMap<Http2Session, KnownConnection>();
  readonly #addresses = new WeakMap<object, string>();
  /** Null until they change for the first time; until then TLS alone checks them. */
  #authorities: X509Certificate[] | null = null;

  constructor(deps: RpcDeps) {
    this.#deps = deps;
  }

  /** A failed handshake leaves a socket without an address, so the address is recorded before. */
  readonly onConnection = (socket: Socket): void => {
    if (socket.remoteAddress !== undefined) this.#addresses.set(socket, socket.remoteAddress);
  };

  /** Reads the certificate from the socket of this connection and nowhere else. */
  readonly onSession = (session: Http2Session): void => {
    const socket = session.socket as TLSSocket;
    const peer = peerOn(socket, this.#trustIn(session));
    const certificate = validityOn(socket);
    const serial = certificate?.serial ?? null;
    this.#bySession.set(session, { peer, certificate, serial, ipAddress: this.addressOf(socket) });
    session.on("error", (error) => this.#deps.logger.debug({ err: error }, "a gRPC connection broke"));
  };

  of(stream: Http2Stream | undefined): Connection | null {
    return (stream?.session && this.#bySession.get(stream.session)) ?? null;
  }

  addressOf(socket: TLSSocket): string | null {
    return plainAddress(socket.remoteAddress ?? this.#addresses.get(socketBelow(socket)));
  }

  /** Sets new authorities. Clients of a removed one are refused from their next call on. */
  setClientAuthorities(authorityPems: string[]): void {
    this.#authorities = authorityPems.map((pem) => new X509Certificate(pem));
  }

  /** Whether one of the present authorities is behind the chain that TLS has verified. */
  isTrusted(socket: TLSSocket): boolean {
    return this.#authorities === null || isBehind(this.#authorities, chainOn(socket));
  }

  /** Tells which connections may stay open, with the list of revoked certificates read once for all of them. */
  readonly rightsNow = (): ((session: Http2Session) => boolean) => {
    const rules = { nowMs: this.#deps.clock.nowMs(), revoked: this.#deps.revoked.current() };
    return (session) => {
      const certificate = this.#bySession.get(session)?.certificate ?? null;
      return certificate !== null && problemWith(certificate, rules) === null;
    };
  };

  /**
   * Checks a connection again when it is used after a change, because checking all at once would delay other calls. A
   * new connection is checked too: its handshake may have begun before the change.
   */
  #trustIn(session: Http2Session): () => boolean {
    let judgedBy: X509Certificate[] | null = null;
    let isTrusted = true;
    return () => {
      if (judgedBy === this.#authorities || this.#authorities === null || session.destroyed) return isTrusted;
      judgedBy = this.#authorities;
      isTrusted = this.isTrusted(session.socket as TLSSocket);
      return isTrusted;
    };
  }
}

function peerOn(socket: TLSSocket, isTrusted: () => boolean): Connection["peer"] {
  try {
    if (!socket.authorized) throw new WritError("UNAUTHENTICATED", "the certificate is not trusted");
    return readPeer(socket.getPeerX509Certificate(), isTrusted);
  } catch (error) {
    return error instanceof WritError
      ? error
      : new WritError("UNAUTHENTICATED", "the certificate cannot be read");
  }
}

/** Also for a certificate with names that are refused: its serial is then the only identification. */
function validityOn(socket: TLSSocket): CertificateValidity | null {
  const certificate = socket.getPeerX509Certificate();
  return certificate === undefined ? null : validityOf(certificate);
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
