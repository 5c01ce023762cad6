import { hasCode, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { type Identity, isOfCertificate, isTokenUsable } from "../../../core/identity.ts";
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

const sessionMs = 12 * 3_600_000;

/** Who is calling, or UNAUTHENTICATED with an event. Unknown, revoked and expired secrets look alike. */
export async function authenticate(deps: HubDeps, given: Credentials, origin: Origin): Promise<Identity> {
  const identity = await identityOf(deps, given);
  if (identity !== null) return identity;
  const error = given.bearer === null ? "no token" : "bad token";
  const waitMs = await noteFailedLogin(deps, origin, { error });
  if (waitMs > 0) {
    throw new WritError("RATE_LIMITED", "too many failed logins from this address", {
      retry_after_sec: Math.ceil(waitMs / 1000),
    });
  }
  // Without an example of a token: what looks like one is redacted in every log and on every terminal.
  throw new WritError(
    "UNAUTHENTICATED",
    given.bearer === null
      ? "no token was sent; send one in the header Authorization, after the word Bearer"
      : "the token is not valid: it is unknown, revoked or expired",
  );
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

/** The rules for certificates as of now. */
export function certificateRules(deps: HubDeps): CertificateRules {
  const { revoked, homeAdmins, settings, clock } = deps;
  return { nowMs: clock.nowMs(), revoked, homeAdmins, users: settings.users };
}

/** The token is void as soon as its certificate is. */
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

function identityFrom(token: TokenRecord): Identity {
  const { id, role, tenantId, userId, workerId } = token;
  return { tokenId: id, role, tenantId, userId, workerId };
}

/** Logs a person in: the secret of the session goes into a cookie. */
export async function createSession(
  deps: HubDeps,
  call: { identity: Identity; origin: Origin },
): Promise<{ secret: string; maxAgeSec: number }> {
  if (isOfCertificate(call.identity)) {
    throw new WritError(
      "PERMISSION_DENIED",
      "a token that stands for a certificate cannot open a session; log in with a token of its own",
    );
  }
  const secret = deps.ids.secret();
  const nowMs = deps.clock.nowMs();
  await deps.store.createSession({
    secretHash: sha256Hex(secret),
    tokenId: call.identity.tokenId,
    expiresAt: nowMs + sessionMs,
    nowMs,
    origin: call.origin,
  });
  return { secret, maxAgeSec: sessionMs / 1000 };
}

export async function removeSession(deps: HubDeps, secret: string): Promise<void> {
  await deps.store.removeSession({ secretHash: sha256Hex(secret) });
}
