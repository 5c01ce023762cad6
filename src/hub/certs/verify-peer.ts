// Checks that the certificate of a caller is valid now, and identifies the caller. Why: ADR 0012, ADR 0094.
import type { X509Certificate } from "node:crypto";
import { WritError } from "../../core/errors.ts";
import { certificateTokenId, type Identity } from "../../core/identity.ts";
import { type CertificateSubject, readSubject } from "./certificate-subject.ts";
import { fingerprintOf, type HomeAdmins } from "./home-admins.ts";
import { type RevocationList, serialText } from "./revocations.ts";

const clientAuth = "1.3.6.1.5.5.7.3.2";

/** The facts that decide whether a certificate is valid. */
export type CertificateValidity = { serial: string; validFromMs: number; validToMs: number };

/** The facts of a certificate. */
export type CertificateFacts = CertificateValidity & {
  /** SHA-256 of the whole certificate, in hex. */
  fingerprint: string;
  subject: CertificateSubject;
};

export type Peer = CertificateFacts & {
  /** False as soon as the hub no longer accepts its authority. */
  isTrusted: () => boolean;
};

/** The rules at this moment for accepting a certificate. */
export type CertificateRules = ValidityRules & {
  homeAdmins: HomeAdmins;
  users: readonly string[] | null;
};

type ValidityRules = { nowMs: number; revoked: Pick<RevocationList, "has"> };

/** Why a certificate is not valid now. */
type CertificateProblem = "not valid yet" | "expired" | "revoked";

/** The checks that are needed once. TLS has already verified the chain. */
export function readPeer(certificate: X509Certificate | undefined, isTrusted: Peer["isTrusted"]): Peer {
  if (certificate === undefined) throw refused("a client certificate is required");
  if (certificate.ca) throw refused("it is the certificate of an authority, not of a client");
  // Node calls the extended usages keyUsage; without them, a certificate would be valid for any purpose.
  if (!certificate.keyUsage?.includes(clientAuth)) {
    throw refused("the certificate is not made for clients (extended key usage clientAuth)");
  }
  return { ...factsOf(certificate), isTrusted };
}

function factsOf(certificate: X509Certificate): CertificateFacts {
  return {
    ...validityOf(certificate),
    fingerprint: fingerprintOf(certificate),
    subject: readSubject(certificate.raw),
  };
}

export function validityOf(certificate: X509Certificate): CertificateValidity {
  return {
    serial: serialText(certificate.serialNumber),
    validFromMs: certificate.validFromDate.getTime(),
    validToMs: certificate.validToDate.getTime(),
  };
}

/** Checked at the handshake, at each call, and while a connection is open. */
export function problemWith(
  { serial, validFromMs, validToMs }: CertificateValidity,
  { nowMs, revoked }: ValidityRules,
): CertificateProblem | null {
  if (nowMs < validFromMs) return "not valid yet";
  if (nowMs > validToMs) return "expired";
  return revoked.has(serial) ? "revoked" : null;
}

const problemText: Record<CertificateProblem, string> = {
  "not valid yet": "the certificate is not valid yet",
  expired: "the certificate has expired",
  revoked: "the certificate is revoked",
};

/** The checks that are needed at each call, because a connection may outlive the right to use it. */
export function checkPeer(peer: Peer, rules: CertificateRules): Identity {
  if (!peer.isTrusted()) throw refused("the authority of the certificate is no longer trusted");
  return identityOfCertificate(peer, rules);
}

/** The person whom a certificate identifies. Throws if the certificate is refused now. */
export function identityOfCertificate(facts: CertificateFacts, rules: CertificateRules): Identity {
  const { serial, fingerprint, subject } = facts;
  const problem = problemWith(facts, rules);
  if (problem !== null) throw refused(problemText[problem]);
  if (rules.users !== null && !rules.users.includes(subject.user)) {
    throw refused(`user ${subject.user} is not on the hub's list of users`);
  }
  return {
    tokenId: certificateTokenId(serial),
    role: subject.isAdmin ? "admin" : "user",
    // The home's own certificate is the person of admin.token, who administers all tenants.
    tenantId: rules.homeAdmins.has(fingerprint) ? null : subject.tenant,
    userId: subject.user,
    workerId: null,
  };
}

/**
 * Whether one of these authorities is behind a chain that TLS has verified, which begins with the client's certificate.
 * Authorities are compared by name and key, so that a renewed certificate counts as the same authority.
 */
export function isBehind(authorities: X509Certificate[], chain: X509Certificate[]): boolean {
  // An intermediate authority is accepted because of the one that signed it: TLS requires the root as well.
  const roots = authorities.filter((authority) => authority.checkIssued(authority));
  return chain.some((link) => roots.some((root) => link.checkIssued(root) && link.verify(root.publicKey)));
}

function refused(why: string): WritError {
  return new WritError("UNAUTHENTICATED", why);
}
