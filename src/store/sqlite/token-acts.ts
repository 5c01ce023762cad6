import type { Origin } from "../../core/events.ts";
import type { Role } from "../../core/identity.ts";
import type { NewToken, TokenRecord } from "../store.ts";
import type { Context } from "./context.ts";
import { appendPlainEvent } from "./event-log.ts";

export function createToken(context: Context, input: { token: NewToken; origin: Origin | null }): void {
  const { token, origin } = input;
  insertToken(context, token);
  const event = token.role === "worker" ? "WORKER_TOKEN_ISSUED" : "TOKEN_ISSUED";
  appendPlainEvent(
    context,
    { event, ts: token.createdAt, tenantId: token.tenantId, origin },
    { token_id: token.id, role: token.role, user_id: token.userId, worker_id: token.workerId },
  );
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

type TokenRow = {
  id: string;
  secret_hash: string;
  role: Role;
  tenant_id: string | null;
  user_id: string;
  worker_id: string | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
};

function readToken(row: TokenRow): TokenRecord {
  return {
    id: row.id,
    secretHash: row.secret_hash,
    role: row.role,
    tenantId: row.tenant_id,
    userId: row.user_id,
    workerId: row.worker_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

export function findToken(context: Context, { secretHash }: { secretHash: string }): TokenRecord | null {
  const row = context.sql.first<TokenRow>("SELECT * FROM tokens WHERE secret_hash = ?", secretHash);
  return row && readToken(row);
}

export function listTokens(context: Context): TokenRecord[] {
  return context.sql.all<TokenRow>("SELECT * FROM tokens ORDER BY created_at, id").map(readToken);
}

/** One token takes the place of another. False when the old one holds no more: of two who ask at once, one wins. */
export function refreshToken(
  context: Context,
  input: { tokenId: string; token: NewToken; nowMs: number; origin: Origin | null },
): boolean {
  const { tokenId, token, nowMs, origin } = input;
  const old = context.sql.first<TokenRow>("SELECT * FROM tokens WHERE id = ?", tokenId);
  if (old === null || old.revoked_at !== null) return false;
  if (old.expires_at !== null && old.expires_at <= nowMs) return false;
  insertToken(context, token);
  context.sql.run("DELETE FROM sessions WHERE token_id = ?", tokenId);
  context.sql.run("UPDATE tokens SET revoked_at = ? WHERE id = ?", nowMs, tokenId);
  appendPlainEvent(
    context,
    { event: "TOKEN_REFRESH", ts: nowMs, tenantId: token.tenantId, origin },
    {
      token_id: token.id,
      replaces: tokenId,
      role: token.role,
      user_id: token.userId,
      worker_id: token.workerId,
    },
  );
  return true;
}

export function revokeToken(
  context: Context,
  { tokenId, nowMs, origin }: { tokenId: string; nowMs: number; origin: Origin | null },
): boolean {
  const token = context.sql.first<TokenRow>("SELECT * FROM tokens WHERE id = ?", tokenId);
  if (token === null) return false;
  context.sql.run("DELETE FROM sessions WHERE token_id = ?", tokenId);
  if (token.revoked_at !== null) return true;
  context.sql.run("UPDATE tokens SET revoked_at = ? WHERE id = ?", nowMs, tokenId);
  appendPlainEvent(
    context,
    { event: "TOKEN_REVOKED", ts: nowMs, tenantId: token.tenant_id, origin },
    { token_id: tokenId, role: token.role, user_id: token.user_id },
  );
  return true;
}
