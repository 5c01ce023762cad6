import type { Origin } from "../../../core/events.ts";
import { isTokenUsable } from "../../../core/identity.ts";
import type { NewToken, TokenRecord } from "../../access-store.ts";
import { tokenIssued, tokenRefreshed, tokenRevoked } from "../../log/act-events.ts";
import type { Context } from "../context.ts";
import { appendEvent } from "../log/event-log.ts";
import type { ReadContext } from "../reads/read-context.ts";
import { getWorkerOwner, moveWorker } from "./worker-owner.ts";

export function createToken(
  context: Context,
  input: { token: NewToken; mayMove?: boolean; origin: Origin | null },
): boolean {
  const { token, origin } = input;
  if (!isOwnName(context, token, token.createdAt)) {
    if (input.mayMove !== true) return false;
    moveWorker(context, token.workerId!, token);
  }
  insertToken(context, token);
  appendEvent(context, tokenIssued(token, origin));
  return true;
}

/** Whether the worker that the token names, if any, is of the token's own tenant. */
function isOwnName(context: Context, { workerId, tenantId }: NewToken, nowMs: number): boolean {
  if (workerId === null) return true;
  const owner = getWorkerOwner(context, { workerId, nowMs });
  return owner === null || owner.tenantId === tenantId;
}

function insertToken(context: Context, token: NewToken): void {
  context.sql.run(
    `INSERT INTO tokens (id, secret_hash, role, tenant_id, user_id, worker_id, created_at, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    token.id,
    token.secretHash,
    token.role,
    token.tenantId,
    token.userId,
    token.workerId,
    token.createdAt,
    token.expiresAt,
  );
}

const tokenText = `SELECT id, secret_hash AS secretHash, role, tenant_id AS tenantId, user_id AS userId,
    worker_id AS workerId, created_at AS createdAt, expires_at AS expiresAt, revoked_at AS revokedAt FROM tokens`;

export function findToken(context: Context, { secretHash }: { secretHash: string }): TokenRecord | null {
  return context.sql.first<TokenRecord>(`${tokenText} WHERE secret_hash = ?`, secretHash);
}

function getToken(context: Context, tokenId: string): TokenRecord | null {
  return context.sql.first<TokenRecord>(`${tokenText} WHERE id = ?`, tokenId);
}

export function listTokens(context: ReadContext): TokenRecord[] {
  return context.sql.all<TokenRecord>(`${tokenText} ORDER BY created_at, id`);
}

/** Replaces one token with another. False if the old one is no longer valid: of two simultaneous calls, one wins. */
export function refreshToken(
  context: Context,
  input: { tokenId: string; token: NewToken; nowMs: number; origin: Origin | null },
): boolean {
  const { tokenId, token, nowMs } = input;
  const old = getToken(context, tokenId);
  if (old === null || !isTokenUsable(old, nowMs) || !isOwnName(context, old, nowMs)) return false;
  insertToken(context, token);
  endToken(context, tokenId, nowMs);
  appendEvent(context, tokenRefreshed(token, tokenId, input));
  return true;
}

export function revokeToken(
  context: Context,
  input: { tokenId: string; nowMs: number; origin: Origin | null },
): boolean {
  const token = getToken(context, input.tokenId);
  if (token === null) return false;
  endToken(context, token.id, input.nowMs);
  if (token.revokedAt === null) appendEvent(context, tokenRevoked(token, input));
  return true;
}

/** Its sessions end with it. The time of the first revocation stays. */
function endToken(context: Context, tokenId: string, nowMs: number): void {
  context.sql.run("DELETE FROM sessions WHERE token_id = ?", tokenId);
  context.sql.run("UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", nowMs, tokenId);
}
