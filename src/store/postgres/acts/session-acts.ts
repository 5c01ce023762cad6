import { clearedMax, type NewSession, type TokenRecord } from "../../access-store.ts";
import { loggedIn } from "../../log/act-events.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { findToken } from "./token-acts.ts";

export async function createSession(tx: Transaction, session: NewSession): Promise<void> {
  const { secretHash, endedHash = null, tokenId, expiresAt, nowMs } = session;
  tx.send(
    `DELETE FROM sessions WHERE secret_hash IN (
        SELECT secret_hash FROM sessions WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    nowMs,
    clearedMax,
  );
  if (endedHash !== null) tx.send("DELETE FROM sessions WHERE secret_hash = $1", endedHash);
  tx.send(
    "INSERT INTO sessions (secret_hash, token_id, expires_at) VALUES ($1, $2, $3)",
    secretHash,
    tokenId,
    expiresAt,
  );
  const token = await tx.sql.first<Pick<TokenRecord, "id" | "tenantId" | "userId">>(
    `SELECT id, tenant_id AS "tenantId", user_id AS "userId" FROM tokens WHERE id = $1`,
    tokenId,
  );
  tx.log(loggedIn(token!, session));
}

type Behind = { secret_hash: string; expires_at: number };

/** Expired sessions are returned too; the caller decides and says why. */
export async function findSession(
  sql: Connection,
  { secretHash }: { secretHash: string },
): Promise<{ token: TokenRecord; expiresAt: number } | null> {
  const row = await sql.first<Behind>(
    `SELECT tokens.secret_hash, sessions.expires_at FROM sessions
      JOIN tokens ON tokens.id = sessions.token_id WHERE sessions.secret_hash = $1`,
    secretHash,
  );
  const token = row && (await findToken(sql, { secretHash: row.secret_hash }));
  return row && token && { token, expiresAt: row.expires_at };
}

export async function removeSession(
  { sql }: Transaction,
  { secretHash }: { secretHash: string },
): Promise<boolean> {
  return (await sql.run("DELETE FROM sessions WHERE secret_hash = $1", secretHash)) > 0;
}

type NewLoginCode = { codeHash: string; tokenId: string; expiresAt: number; nowMs: number };

export async function createLoginCode({ sql }: Transaction, code: NewLoginCode): Promise<void> {
  await sql.run("DELETE FROM login_codes WHERE expires_at <= $1", code.nowMs);
  await sql.run(
    "INSERT INTO login_codes (code_hash, token_id, expires_at) VALUES ($1, $2, $3)",
    code.codeHash,
    code.tokenId,
    code.expiresAt,
  );
}

export async function takeLoginCode(
  { sql }: Transaction,
  { codeHash, nowMs }: { codeHash: string; nowMs: number },
): Promise<TokenRecord | null> {
  const row = await sql.first<Behind>(
    `DELETE FROM login_codes USING tokens WHERE tokens.id = login_codes.token_id AND code_hash = $1
      RETURNING tokens.secret_hash, login_codes.expires_at`,
    codeHash,
  );
  if (row === null || row.expires_at <= nowMs) return null;
  return findToken(sql, { secretHash: row.secret_hash });
}
