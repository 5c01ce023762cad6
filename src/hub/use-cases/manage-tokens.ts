import { WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import { defaultTenant, type Identity, type Role } from "../../core/identity.ts";
import { sha256Hex } from "../../signing/mac.ts";
import type { TokenRecord } from "../../store/store.ts";
import type { HubDeps } from "../deps.ts";
import { isHidden } from "./tenant-wall.ts";

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
  const own = (await deps.store.listTokens()).find(({ id }) => id === tokenId);
  if (own === undefined) throw unknownToken(tokenId);
  const wish = {
    role,
    tenantId: tenantId ?? undefined,
    userId,
    workerId: workerId ?? undefined,
    expiresInSec: lifetimeSec(own, call.expiresInSec),
  };
  const issued = await createToken(deps, { identity: call.identity, wish, origin: call.origin });
  await revokeToken(deps, { identity: call.identity, tokenId, origin: call.origin });
  return issued;
}

/** A token that was made to end cannot make itself one that lives longer. */
function lifetimeSec(own: TokenRecord, asked: number | undefined): number | undefined {
  if (own.expiresAt === null) return asked;
  const given = Math.max(1, Math.round((own.expiresAt - own.createdAt) / 1000));
  return Math.min(given, asked ?? given);
}

/** Ends a token at once; streams that were opened with it end with their next look. */
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
