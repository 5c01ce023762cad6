import type { TLSSocket } from "node:tls";
import type { Origin } from "../../core/events.ts";
import { fingerprintOf } from "../certs/home-admins.ts";
import { serialText } from "../certs/revocations.ts";
import { problemWith, validityOf } from "../certs/verify-peer.ts";
import { ConnectionLimit } from "../connections/connection-limit.ts";
import { certificateRules } from "../use-cases/access/authenticate.ts";
import { noteFailedLogin } from "../use-cases/access/note-failed-login.ts";
import { noteRateLimit } from "../use-cases/access/note-rate-limit.ts";
import type { RpcDeps } from "./call.ts";
import type { Connections } from "./connections.ts";
import { type TlsAlert, type TlsAlerts, tlsAlert } from "./tls-alert.ts";

type Refusal = { alert: TlsAlert; error: string; isTooMany?: boolean };

/**
 * Decides at the handshake whether to accept a connection: only with a certificate that is valid now, and only a
 * limited number with the same one. Every call checks again, because a connection may outlive its right. Why: ADR 0094.
 */
export class HandshakeGate {
  readonly #deps: RpcDeps;
  readonly #connections: Connections;
  readonly #alerts: TlsAlerts;
  readonly #perCertificate: ConnectionLimit;

  constructor(deps: RpcDeps, connections: Connections, alerts: TlsAlerts) {
    this.#deps = deps;
    this.#connections = connections;
    this.#alerts = alerts;
    this.#perCertificate = new ConnectionLimit(deps.settings.connectionsPerCertificate);
  }

  readonly admits = (socket: TLSSocket): boolean => {
    const refusal = this.#refusalOf(socket);
    if (refusal === null) {
      this.#alerts.forget(socket);
      return true;
    }
    this.#note(socket, refusal);
    this.#alerts.refuse(socket, refusal.alert);
    return false;
  };

  /** The handshake failed in TLS itself, for example with an older version or plain text. */
  readonly onTlsError = (error: NodeJS.ErrnoException, socket: TLSSocket): void =>
    this.#note(socket, { error: error.code ?? "handshake failed" });

  #refusalOf(socket: TLSSocket): Refusal | null {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined)
      return { alert: tlsAlert.certificateRequired, error: "PEER_DID_NOT_RETURN_A_CERTIFICATE" };
    if (!socket.authorized) return untrusted(String(socket.authorizationError));
    if (!this.#connections.isTrusted(socket)) return untrusted("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
    try {
      const problem = problemWith(validityOf(certificate), certificateRules(this.#deps));
      if (problem !== null) return problems[problem];
    } catch (error) {
      // The list of revoked certificates cannot be read, so the connection is refused.
      this.#deps.failures.error(error, "a certificate could not be checked");
      return { alert: tlsAlert.internalError, error: "the certificate could not be checked" };
    }
    if (this.#perCertificate.admits(fingerprintOf(certificate), socket)) return null;
    return { alert: tlsAlert.accessDenied, error: "too many connections", isTooMany: true };
  }

  #note(socket: TLSSocket, { error, isTooMany }: Omit<Refusal, "alert">): void {
    const { rpcMetrics, logger, failures } = this.#deps;
    rpcMetrics.handshakesRefused.inc();
    const serial = serialText(socket.getPeerX509Certificate()?.serialNumber ?? "");
    const origin = originOf(this.#connections.addressOf(socket));
    const details = { error: `TLS: ${error}`, ...(serial === "" ? {} : { serial }) };
    const noted = isTooMany
      ? noteRateLimit(this.#deps, { limit: "connections", subject: serial, origin, details })
      : noteFailedLogin(this.#deps, origin, details).then((waitMs) => waitMs === 0);
    noted
      .then((isFirst) => {
        if (isFirst) logger.warn({ ...details, address: origin.ipAddress }, "a gRPC connection was refused");
      })
      .catch((failure) => failures.error(failure, "a refused handshake could not be recorded"));
  }
}

const problems = {
  "not valid yet": { alert: tlsAlert.badCertificate, error: "CERT_NOT_YET_VALID" },
  expired: { alert: tlsAlert.certificateExpired, error: "CERT_HAS_EXPIRED" },
  revoked: { alert: tlsAlert.certificateRevoked, error: "CERT_REVOKED" },
} as const;

/** `error` is OpenSSL's name for the problem with the chain; the alerts are those that OpenSSL itself sends for it. */
function untrusted(error: string): Refusal {
  if (error === "CERT_HAS_EXPIRED") return problems.expired;
  if (error === "INVALID_PURPOSE") return { alert: tlsAlert.unsupportedCertificate, error };
  const isUnknown = /ISSUER|SELF_SIGNED|UNABLE_TO_VERIFY|INVALID_CA|CHAIN_TOO_LONG|UNTRUSTED/.test(error);
  return { alert: isUnknown ? tlsAlert.unknownAuthority : tlsAlert.badCertificate, error };
}

function originOf(ipAddress: string | null): Origin {
  return { userId: null, ipAddress, userAgent: null, endpoint: "gRPC", method: "TLS" };
}
