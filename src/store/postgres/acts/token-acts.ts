import type { Origin } from "../../../core/events.ts";
import { isTokenUsable } from "../../../core/identity.ts";
import type { NewToken, TokenRecord } from "../../access-store.ts";
import { tokenIssued, tokenRefreshed, tokenRevoked } from "../../log/act-events.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { getWorkerOwner, moveWorker } from "./worker-owner.ts";

export async function createToken(
  tx: Transaction,
  input: { token: NewToken; mayMove?: boolean; origin: Origin | null },
): Promise<boolean> {
  const { token, origin } = input;
  if (!(await isOwnName(tx.sql, token, token.createdAt))) {
    if (input.mayMove !== true) return false;
    await moveWorker(tx, token.workerId!, token);
  }
  insertToken(tx, token);
  tx.log(tokenIssued(token, origin));
  return true;
}

/** Whether the worker that the token names, if any, is of the token's own tenant. */
async function isOwnName(sql: Connection, { workerId, tenantId }: NewToken, nowMs: number): Promise<boolean> {
  if (workerId === null) return true;
  const owner = await getWorkerOwner(sql, { workerId, nowMs });
  return owner === null || owner.tenantId === tenantId;
}

function insertToken(tx: Transaction, token: NewToken): void {
  tx.send(
    `INSERT INTO tokens (id, secret_hash, role, tenant_id, user_id, worker_id, created_at, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
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

const tokenText = `SELECT id, secret_hash AS "secretHash", role, tenant_id AS "tenantId", user_id AS "userId",
    worker_id AS "workerId", created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"
  FROM tokens`;

export function findToken(
  sql: Connection,
  { secretHash }: { secretHash: string },
): Promise<TokenRecord | null> {
  return sql.first<TokenRecord>(`${tokenText} WHERE secret_hash = $1`, secretHash);
}

/** Nobody else ends it until this transaction is over. */
function lockToken({ sql }: Transaction, tokenId: string): Promise<TokenRecord | null> {
  return sql.first<TokenRecord>(`${tokenText} WHERE id = $1 FOR UPDATE`, tokenId);
}

export function listTokens(sql: Connection): Promise<TokenRecord[]> {
  return sql.all<TokenRecord>(`${tokenText} ORDER BY created_at, id`);
}

/** Replaces one token with another. False if the old one is no longer valid: of two simultaneous calls, one wins. */
export async function refreshToken(
  tx: Transaction,
  input: { tokenId: string; token: NewToken; nowMs: number; origin: Origin | null },
): Promise<boolean> {
  const { tokenId, token, nowMs } = input;
  const old = await lockToken(tx, tokenId);
  if (old === null || !isTokenUsable(old, nowMs) || !(await isOwnName(tx.sql, old, nowMs))) return false;
  insertToken(tx, token);
  endToken(tx, tokenId, nowMs);
  tx.log(tokenRefreshed(token, tokenId, input));
  return true;
}

export async function revokeToken(
  tx: Transaction,
  input: { tokenId: string; nowMs: number; origin: Origin | null },
): Promise<boolean> {
  const token = await lockToken(tx, input.tokenId);
  if (token === null) return false;
  endToken(tx, token.id, input.nowMs);
  if (token.revokedAt === null) tx.log(tokenRevoked(token, input));
  return true;
}

/** Its sessions end with it. The time of the first revocation stays. */
function endToken(tx: Transaction, tokenId: string, nowMs: number): void {
  tx.send("DELETE FROM sessions WHERE token_id = $1", tokenId);
  tx.send("UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL", nowMs, tokenId);
}
