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
  /** False as soon as its authority is no longer one of those that the hub believes. */
  isBelieved: () => boolean;
};

/** What can be said of a certificate once and for all. TLS has verified its chain before. */
export function readPeer(certificate: X509Certificate | undefined, isBelieved: Peer["isBelieved"]): Peer {
  if (certificate === undefined) throw refused("a client certificate is needed");
  if (certificate.ca) throw refused("the certificate of an authority is nobody's own");
  // Node calls the extended usages keyUsage; without them a certificate would be good for anything.
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

/** What has to hold at each call, because a connection may live longer than the right to use it. */
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
 * Whether one of these authorities stands behind a chain that TLS has verified before, the person's own certificate
 * first. By name and key, so that an authority whose certificate was only renewed is still the same.
 */
export function isBehind(authorities: X509Certificate[], chain: X509Certificate[]): boolean {
  // One that another has signed is believed for the other's sake: TLS asks for the root as well.
  const roots = authorities.filter((authority) => authority.checkIssued(authority));
  return chain.some((link) => roots.some((root) => link.checkIssued(root) && link.verify(root.publicKey)));
}

function refused(why: string): WritError {
  return new WritError("UNAUTHENTICATED", why);
}
