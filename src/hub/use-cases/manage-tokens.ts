import { WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import { defaultTenant, type Identity, type Role } from "../../core/identity.ts";
import { sha256Hex } from "../../signing/mac.ts";
import type { HubDeps } from "../deps.ts";

export type TokenWish = {
  role: Role;
  tenantId?: string;
  userId?: string;
  workerId?: string;
  expiresInSec?: number;
};

export type IssuedToken = { id: string; secret: string };

/** Makes a token. Its secret is answered once and kept only as a hash. */
export async function createToken(
  deps: HubDeps,
  call: { identity: Identity; wish: TokenWish; origin: Origin },
): Promise<IssuedToken> {
  const { wish, identity } = call;
  // An administrator of one tenant cannot make itself one of all.
  const tenantId = wish.tenantId ?? identity.tenantId ?? (wish.role === "user" ? defaultTenant : null);
  if (identity.tenantId !== null && tenantId !== identity.tenantId) {
    throw new WritError("PERMISSION_DENIED", `this token administers tenant ${identity.tenantId} only`);
  }
  const nowMs = deps.clock.nowMs();
  const id = deps.ids.recordId();
  const secret = `sk_${wish.role}_${deps.ids.secret()}`;
  await deps.store.createToken({
    token: {
      id,
      secretHash: sha256Hex(secret),
      role: wish.role,
      tenantId,
      userId: wish.userId ?? (wish.role === "worker" ? "worker" : identity.userId),
      workerId: wish.workerId ?? null,
      createdAt: nowMs,
      expiresAt: wish.expiresInSec === undefined ? null : nowMs + wish.expiresInSec * 1000,
    },
    origin: call.origin,
  });
  return { id, secret };
}

/** The calling token makes way for a new one with the same rights. */
export async function refreshToken(
  deps: HubDeps,
  call: { identity: Identity; expiresInSec?: number; origin: Origin },
): Promise<IssuedToken> {
  const { role, tenantId, userId, workerId, tokenId } = call.identity;
  const wish = {
    role,
    tenantId: tenantId ?? undefined,
    userId,
    workerId: workerId ?? undefined,
    expiresInSec: call.expiresInSec,
  };
  const issued = await createToken(deps, { identity: call.identity, wish, origin: call.origin });
  await revokeToken(deps, { tokenId, origin: call.origin });
  return issued;
}

/** Ends a token at once; streams that were opened with it end with their next look. */
export async function revokeToken(deps: HubDeps, call: { tokenId: string; origin: Origin }): Promise<void> {
  const revoked = await deps.store.revokeToken({ ...call, nowMs: deps.clock.nowMs() });
  deps.tokens.forgetAll();
  if (!revoked) throw new WritError("NOT_FOUND", `there is no token ${call.tokenId}`);
}
