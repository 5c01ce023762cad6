import { hasCode, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { type Identity, isTokenUsable } from "../../../core/identity.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import type { TokenRecord } from "../../../store/access-store.ts";
import {
  isCertificateToken,
  makeCertificateToken,
  readCertificateToken,
} from "../../certs/certificate-token.ts";
import {
  type CertificateFacts,
  type CertificateRules,
  identityOfCertificate,
} from "../../certs/verify-peer.ts";
import type { HubDeps } from "../../deps.ts";
import { noteFailedLogin } from "./note-failed-login.ts";

export type Credentials = { bearer: string | null; session: string | null };

/**
 * Identifies the caller, or refuses with UNAUTHENTICATED and an event. Unknown, revoked and expired secrets look alike.
 */
export async function authenticate(deps: HubDeps, given: Credentials, origin: Origin): Promise<Identity> {
  const identity = await identityOf(deps, given);
  if (identity !== null) return identity;
  if (given.bearer === null && given.session !== null) return refuseSession(deps, given.session, origin);
  // The message has no example of a token, because logs and terminals would redact it.
  return given.bearer === null
    ? refuseLogin(deps, origin, {
        error: "no token",
        message: "no token was sent; send one in the header Authorization, after the word Bearer",
      })
    : refuseLogin(deps, origin, {
        error: "bad token",
        message: "the token is not valid: it is unknown, revoked or expired",
      });
}

/**
 * Tells a caller whose session has ended the reason, if the hub knows it. Only a caller with the session's secret
 * learns it.
 */
async function refuseSession(deps: HubDeps, secret: string, origin: Origin): Promise<never> {
  const session = await deps.store.findSession({ secretHash: sha256Hex(secret) });
  const isOver = session !== null && session.expiresAt <= deps.clock.nowMs();
  const why =
    session === null
      ? "it was signed out, or the token that it was opened with was revoked or replaced"
      : isOver
        ? "a session lasts 12 hours"
        : "the token that it was opened with has expired";
  return refuseLogin(deps, origin, {
    error: session === null ? "unknown session" : "session ended",
    message: `this session has ended: ${why}; sign in again`,
  });
}

/** Records a failed login, and refuses with UNAUTHENTICATED, or with RATE_LIMITED after too many failures. */
export async function refuseLogin(
  deps: HubDeps,
  origin: Origin,
  { error, message }: { error: string; message: string },
): Promise<never> {
  const waitMs = await noteFailedLogin(deps, origin, { error });
  if (waitMs > 0) {
    throw new WritError("RATE_LIMITED", "too many failed logins from this address", {
      retry_after_sec: Math.ceil(waitMs / 1000),
    });
  }
  throw new WritError("UNAUTHENTICATED", message);
}

/** Null if the credentials are not valid, or no longer valid. */
export async function identityOf(deps: HubDeps, given: Credentials): Promise<Identity | null> {
  const nowMs = deps.clock.nowMs();
  if (given.bearer !== null && isCertificateToken(given.bearer)) {
    const facts = readCertificateToken(deps.keys.macKey, given.bearer, nowMs);
    return facts === null ? null : identityBehind(deps, facts);
  }
  if (given.bearer !== null) {
    const token = await deps.tokens.get(sha256Hex(given.bearer));
    return token !== null && isTokenUsable(token, nowMs) ? identityFrom(token) : null;
  }
  if (given.session === null) return null;
  const session = await deps.store.findSession({ secretHash: sha256Hex(given.session) });
  if (session === null || session.expiresAt <= nowMs || !isTokenUsable(session.token, nowMs)) return null;
  return identityFrom(session.token);
}

/** The rules for certificates at this moment. */
export function certificateRules(deps: HubDeps): CertificateRules {
  const { revoked, homeAdmins, settings, clock } = deps;
  return { nowMs: clock.nowMs(), revoked, homeAdmins, users: settings.users };
}

/** Checks the certificate behind a token: the token is void as soon as its certificate is. */
function identityBehind(deps: HubDeps, facts: CertificateFacts): Identity | null {
  try {
    return identityOfCertificate(facts, certificateRules(deps));
  } catch (error) {
    if (hasCode(error, "UNAUTHENTICATED")) return null;
    throw error;
  }
}

/** Gives a caller who has shown a certificate a token for HTTP that stands for it. */
export function exchangeCertificate(
  deps: HubDeps,
  facts: CertificateFacts,
): { token: string; expiresAt: number } {
  return makeCertificateToken(deps.keys.macKey, facts, deps.clock.nowMs());
}

export function identityFrom(token: TokenRecord): Identity {
  const { id, role, tenantId, userId, workerId } = token;
  return { tokenId: id, role, tenantId, userId, workerId };
}
