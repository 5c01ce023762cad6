import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { defaultTenant, type Identity, type Role } from "../../../core/identity.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import type { NewToken, TokenRecord } from "../../../store/access-store.ts";
import type { HubDeps } from "../../deps.ts";
import { readHomeToken, writeHomeToken } from "../../home/home-token.ts";
import { isHidden } from "./tenant-wall.ts";

type TokenRequest = {
  role: Role;
  tenantId?: string;
  userId?: string;
  workerId?: string;
  expiresInSec?: number;
};

type IssuedToken = { id: string; secret: string };

/** Issues a token. Its secret is returned once and stored only as a hash. */
export async function createToken(
  deps: HubDeps,
  call: { identity: Identity; request: TokenRequest; origin: Origin },
): Promise<IssuedToken> {
  const { request, identity } = call;
  // An administrator of one tenant cannot create a token for all tenants.
  const tenantId = request.tenantId ?? identity.tenantId ?? (request.role === "user" ? defaultTenant : null);
  if (identity.tenantId !== null && tenantId !== identity.tenantId) {
    throw new WritError("PERMISSION_DENIED", `this token may administer only tenant ${identity.tenantId}`);
  }
  const userId = request.userId ?? (request.role === "worker" ? "worker" : identity.userId);
  const { token, secret } = makeToken(deps, {
    ...request,
    tenantId,
    userId,
    workerId: request.workerId ?? null,
  });
  const mayMove = identity.tenantId === null;
  if (!(await deps.store.createToken({ token, mayMove, origin: call.origin }))) {
    throw new WritError(
      "PERMISSION_DENIED",
      `worker_id: ${token.workerId} does not belong to tenant ${tenantId}; choose another name`,
    );
  }
  if (token.workerId !== null) deps.workers.forget(token.workerId);
  return { id: token.id, secret };
}

type TokenParts = Pick<NewToken, "role" | "tenantId" | "userId" | "workerId"> & { expiresInSec?: number };

function makeToken(
  deps: HubDeps,
  { role, tenantId, userId, workerId, expiresInSec }: TokenParts,
): { token: NewToken; secret: string } {
  const createdAt = deps.clock.nowMs();
  const secret = `sk_${role}_${deps.ids.secret()}`;
  const expiresAt = expiresInSec === undefined ? null : createdAt + expiresInSec * 1000;
  const id = deps.ids.recordId();
  return {
    token: { id, secretHash: sha256Hex(secret), role, tenantId, userId, workerId, createdAt, expiresAt },
    secret,
  };
}

/**
 * Replaces the caller's token with a new one with the same rights, in one act: of two simultaneous calls, one gets the
 * new token, and the other is refused because the old one is no longer valid.
 */
export async function refreshToken(
  deps: HubDeps,
  call: { identity: Identity; expiresInSec?: number; origin: Origin },
): Promise<IssuedToken> {
  const { role, tenantId, userId, workerId, tokenId } = call.identity;
  const own = (await deps.store.listTokens()).find(({ id }) => id === tokenId);
  if (own === undefined) {
    throw new WritError(
      "STATE_CONFLICT",
      "this token stands for a certificate and cannot be refreshed; exchange the certificate again",
    );
  }
  const expiresInSec = lifetimeSec(own, call.expiresInSec);
  const { token, secret } = makeToken(deps, { role, tenantId, userId, workerId, expiresInSec });
  const nowMs = token.createdAt;
  const isDone = await deps.store.refreshToken({ tokenId, token, nowMs, origin: call.origin });
  deps.tokens.forgetAll();
  if (!isDone)
    throw new WritError("UNAUTHENTICATED", "the token was already exchanged, revoked or has expired");
  await renewHomeToken(deps, own, secret);
  return { id: token.id, secret };
}

/**
 * The file in the home must not keep a token that has ended: every command on this machine would be refused. A hub that
 * is killed before this writes a new one at its next start.
 */
async function renewHomeToken(deps: HubDeps, old: TokenRecord, secret: string): Promise<void> {
  try {
    const kept = await readHomeToken(deps.home);
    if (kept !== null && sha256Hex(kept) === old.secretHash) await writeHomeToken(deps.home, secret);
  } catch (error) {
    deps.failures.error(error, "the new token could not be written to admin.token in the home");
  }
}

/** A token with an expiry time cannot create one that lives longer. */
function lifetimeSec(own: TokenRecord, asked: number | undefined): number | undefined {
  if (own.expiresAt === null) return asked;
  const given = Math.max(1, Math.round((own.expiresAt - own.createdAt) / 1000));
  return Math.min(given, asked ?? given);
}

/** Revokes a token at once; streams that were opened with it end at their next check. */
export async function revokeToken(
  deps: HubDeps,
  call: { identity: Identity; tokenId: string; origin: Origin },
): Promise<void> {
  const { identity, tokenId, origin } = call;
  const known = (await deps.store.listTokens()).find(({ id }) => id === tokenId);
  if (known === undefined || isHidden(identity, known)) throw unknownToken(tokenId);
  await deps.store.revokeToken({ tokenId, origin, nowMs: deps.clock.nowMs() });
  deps.tokens.forgetAll();
}

function unknownToken(tokenId: string): WritError {
  return new WritError("NOT_FOUND", `there is no token ${tokenId}`);
}
