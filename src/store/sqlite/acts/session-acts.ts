import { clearedMax, type NewSession, type TokenRecord } from "../../access-store.ts";
import { loggedIn } from "../../log/act-events.ts";
import type { Context } from "../context.ts";
import { appendEvent } from "../log/event-log.ts";
import { findToken } from "./token-acts.ts";

export function createSession(context: Context, session: NewSession): void {
  const { secretHash, endedHash = null, tokenId, expiresAt, nowMs } = session;
  context.sql.run(
    "DELETE FROM sessions WHERE secret_hash IN (SELECT secret_hash FROM sessions WHERE expires_at <= ? LIMIT ?)",
    nowMs,
    clearedMax,
  );
  if (endedHash !== null) removeSession(context, { secretHash: endedHash });
  context.sql.run(
    "INSERT INTO sessions (secret_hash, token_id, expires_at) VALUES (?, ?, ?)",
    secretHash,
    tokenId,
    expiresAt,
  );
  const token = context.sql.first<Pick<TokenRecord, "id" | "tenantId" | "userId">>(
    "SELECT id, tenant_id AS tenantId, user_id AS userId FROM tokens WHERE id = ?",
    tokenId,
  )!;
  appendEvent(context, loggedIn(token, session));
}

/** Expired sessions are returned too; the caller decides and says why. */
export function findSession(
  context: Context,
  { secretHash }: { secretHash: string },
): { token: TokenRecord; expiresAt: number } | null {
  const row = context.sql.first<{ secret_hash: string; expires_at: number }>(
    `SELECT tokens.secret_hash, sessions.expires_at FROM sessions
      JOIN tokens ON tokens.id = sessions.token_id WHERE sessions.secret_hash = ?`,
    secretHash,
  );
  const token = row && findToken(context, { secretHash: row.secret_hash });
  return row && token && { token, expiresAt: row.expires_at };
}

export function removeSession(context: Context, { secretHash }: { secretHash: string }): boolean {
  return context.sql.run("DELETE FROM sessions WHERE secret_hash = ?", secretHash) > 0;
}

type NewLoginCode = { codeHash: string; tokenId: string; expiresAt: number; nowMs: number };

export function createLoginCode(context: Context, code: NewLoginCode): void {
  context.sql.run("DELETE FROM login_codes WHERE expires_at <= ?", code.nowMs);
  context.sql.run(
    "INSERT INTO login_codes (code_hash, token_id, expires_at) VALUES (?, ?, ?)",
    code.codeHash,
    code.tokenId,
    code.expiresAt,
  );
}

export function takeLoginCode(
  context: Context,
  { codeHash, nowMs }: { codeHash: string; nowMs: number },
): TokenRecord | null {
  const row = context.sql.first<{ secret_hash: string; expires_at: number }>(
    `SELECT tokens.secret_hash, login_codes.expires_at FROM login_codes
      JOIN tokens ON tokens.id = login_codes.token_id WHERE login_codes.code_hash = ?`,
    codeHash,
  );
  if (row === null) return null;
  context.sql.run("DELETE FROM login_codes WHERE code_hash = ?", codeHash);
  return row.expires_at <= nowMs ? null : findToken(context, { secretHash: row.secret_hash });
}
