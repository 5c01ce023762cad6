import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { type Identity, isOfCertificate, isTokenUsable } from "../../../core/identity.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import type { HubDeps } from "../../deps.ts";
import { identityFrom, refuseLogin } from "./authenticate.ts";

const sessionMs = 12 * 3_600_000;
/** A code is in an address, which others may see: long enough to open a browser, and no longer. */
const codeMs = 60_000;

/** Logs a person in: the secret of the session goes into a cookie. The session that the browser had before ends. */
export async function createSession(
  deps: HubDeps,
  call: { identity: Identity; origin: Origin; before: string | null },
): Promise<{ secret: string; maxAgeSec: number }> {
  refuseCertificate(call.identity);
  const secret = deps.ids.secret();
  const nowMs = deps.clock.nowMs();
  await deps.store.createSession({
    secretHash: sha256Hex(secret),
    endedHash: call.before === null ? null : sha256Hex(call.before),
    tokenId: call.identity.tokenId,
    expiresAt: nowMs + sessionMs,
    nowMs,
    origin: call.origin,
  });
  return { secret, maxAgeSec: sessionMs / 1000 };
}

/** A name of the session that is no secret: pages use it to tell one session from the next. */
export function sessionIdOf(secret: string): string {
  return sha256Hex(`session id of ${secret}`).slice(0, sessionIdChars);
}

const sessionIdChars = 32;

/**
 * All tabs of a browser share one cookie. A page names the session that it was opened in; if another person has signed
 * in meanwhile, the call is refused: otherwise it would act as another person than the page shows.
 */
export function checkSession(secret: string, expectedId: string | undefined): void {
  if (expectedId === undefined || expectedId === sessionIdOf(secret)) return;
  throw new WritError("UNAUTHENTICATED", "another session was opened in this browser; load the page again", {
    session: "replaced",
  });
}

export async function removeSession(deps: HubDeps, secret: string): Promise<void> {
  await deps.store.removeSession({ secretHash: sha256Hex(secret) });
}

/** A code for a link that logs a browser in as the caller. */
export async function createLoginCode(
  deps: HubDeps,
  identity: Identity,
): Promise<{ code: string; expiresInSec: number }> {
  refuseCertificate(identity);
  const code = deps.ids.secret();
  const nowMs = deps.clock.nowMs();
  const { tokenId } = identity;
  await deps.store.createLoginCode({ codeHash: sha256Hex(code), tokenId, expiresAt: nowMs + codeMs, nowMs });
  return { code, expiresInSec: codeMs / 1000 };
}

/** Resolves with the identity behind a code, which cannot be used again. */
export async function redeemLoginCode(deps: HubDeps, code: string, origin: Origin): Promise<Identity> {
  const nowMs = deps.clock.nowMs();
  const token = await deps.store.takeLoginCode({ codeHash: sha256Hex(code), nowMs });
  if (token !== null && isTokenUsable(token, nowMs)) return identityFrom(token);
  return refuseLogin(deps, origin, {
    error: "bad login code",
    message: "the link is no longer valid: it works once and for 60 seconds; `writ open` makes another",
  });
}

function refuseCertificate(identity: Identity): void {
  if (!isOfCertificate(identity)) return;
  throw new WritError(
    "PERMISSION_DENIED",
    "a token that stands for a certificate cannot open a session; log in with a token of its own",
  );
}
