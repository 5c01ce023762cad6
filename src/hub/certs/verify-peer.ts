import type { X509Certificate } from "node:crypto";
import { WritError } from "../../core/errors.ts";
import type { Identity } from "../../core/identity.ts";
import { type CertificateSubject, readSubject } from "./certificate-subject.ts";
import { type RevocationList, serialText } from "./revocations.ts";

const clientAuth = "1.3.6.1.5.5.7.3.2";

export type Peer = {
  certificate: X509Certificate;
  serial: string;
  subject: CertificateSubject;
  /** False as soon as its authority is no longer one that the hub accepts. */
  isBelieved: () => boolean;
};

/** What can be checked once. TLS has already verified the chain. */
export function readPeer(certificate: X509Certificate | undefined, isBelieved: Peer["isBelieved"]): Peer {
  if (certificate === undefined) throw refused("a client certificate is required");
  if (certificate.ca) throw refused("it is the certificate of an authority, not of a client");
  // Node calls the extended usages keyUsage; without them, a certificate would be valid for any purpose.
  if (!certificate.keyUsage?.includes(clientAuth)) {
    throw refused("the certificate is not made for clients (extended key usage clientAuth)");
  }
  return {
    certificate,
    serial: serialText(certificate.serialNumber),
    subject: readSubject(certificate.raw),
    isBelieved,
  };
}

/** What must be checked at each call, because a connection may outlive the right to use it. */
export function checkPeer(
  peer: Peer,
  now: { nowMs: number; revoked: RevocationList; users: readonly string[] | null },
): Identity {
  const { certificate, serial, subject } = peer;
  if (!peer.isBelieved()) throw refused("the authority of the certificate is no longer trusted");
  if (now.nowMs < certificate.validFromDate.getTime()) throw refused("the certificate is not valid yet");
  if (now.nowMs > certificate.validToDate.getTime()) throw refused("the certificate has expired");
  if (now.revoked.has(serial)) throw refused("the certificate is revoked");
  if (now.users !== null && !now.users.includes(subject.user)) {
    throw refused(`user ${subject.user} is not on the hub's list of users`);
  }
  return {
    tokenId: `cert:${serial}`,
    role: subject.isAdmin ? "admin" : "user",
    tenantId: subject.tenant,
    userId: subject.user,
    workerId: null,
  };
}

/**
 * Whether one of these authorities is behind a chain that TLS has verified, the client's own certificate first.
 * Compared by name and key, so that an authority whose certificate was only renewed is still the same.
 */
export function isBehind(authorities: X509Certificate[], chain: X509Certificate[]): boolean {
  // An intermediate authority is accepted because of the one that signed it: TLS requires the root as well.
  const roots = authorities.filter((authority) => authority.checkIssued(authority));
  return chain.some((link) => roots.some((root) => link.checkIssued(root) && link.verify(root.publicKey)));
}

function refused(why: string): WritError {
  return new WritError("UNAUTHENTICATED", why);
}
