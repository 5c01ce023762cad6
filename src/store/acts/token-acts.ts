// Tokens: issued, found, replaced, revoked. Why: ADR 0111.
import type { Origin } from "../../core/events.ts";
import { isTokenUsable, type Role } from "../../core/identity.ts";
import type { NewToken, TokenRecord } from "../access-store.ts";
import { tokenIssued, tokenRefreshed, tokenRevoked } from "../log/act-events.ts";
import { type Act, all, first } from "./act.ts";
import { Columns, nullable, number, text } from "./columns.ts";
import type { ReadDriver, WriteDriver } from "./driver.ts";
import { getWorkerOwner, moveWorker } from "./worker-owner.ts";

export const tokenColumns = {
  id: text("tokens.id"),
  secretHash: text("tokens.secret_hash"),
  role: text<Role>("tokens.role"),
  tenantId: nullable(text("tokens.tenant_id")),
  userId: text("tokens.user_id"),
  workerId: nullable(text("tokens.worker_id")),
  createdAt: number("tokens.created_at"),
  expiresAt: nullable(number("tokens.expires_at")),
  revokedAt: nullable(number("tokens.revoked_at")),
};
const tokens = new Columns<TokenRecord>(tokenColumns);
const tokenText = `SELECT ${tokens.list} FROM tokens`;

export function* createToken(
  driver: WriteDriver,
  input: { token: NewToken; mayMove?: boolean; origin: Origin | null },
): Act<boolean> {
  const { token, origin } = input;
  if (!(yield* isOwnName(driver, token, token.createdAt))) {
    if (input.mayMove !== true) return false;
    yield* moveWorker(driver, token.workerId!, token);
  }
  insertToken(driver, token);
  driver.append(tokenIssued(token, origin));
  return true;
}

/** Whether the worker that the token names, if any, is of the token's own tenant. */
function* isOwnName(driver: ReadDriver, { workerId, tenantId }: NewToken, nowMs: number): Act<boolean> {
  if (workerId === null) return true;
  const owner = yield* getWorkerOwner(driver, { workerId, nowMs });
  return owner === null || owner.tenantId === tenantId;
}

function insertToken(driver: WriteDriver, token: NewToken): void {
  driver.send(
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

export function findToken(_: ReadDriver, { secretHash }: { secretHash: string }): Act<TokenRecord | null> {
  return first(tokens, `${tokenText} WHERE secret_hash = ?`, secretHash);
}

export function getToken(tokenId: string): Act<TokenRecord | null> {
  return first(tokens, `${tokenText} WHERE id = ?`, tokenId);
}

/** No other transaction ends it until this one is over. */
function lockToken(tokenId: string): Act<TokenRecord | null> {
  return first(tokens, `${tokenText} WHERE id = ? FOR UPDATE`, tokenId);
}

export function listTokens(): Act<TokenRecord[]> {
  return all(tokens, `${tokenText} ORDER BY created_at, id`);
}

/** Replaces one token with another. False if the old one is no longer valid: of two simultaneous calls, one wins. */
export function* refreshToken(
  driver: WriteDriver,
  input: { tokenId: string; token: NewToken; nowMs: number; origin: Origin | null },
): Act<boolean> {
  const { tokenId, token, nowMs } = input;
  const old = yield* lockToken(tokenId);
  if (old === null || !isTokenUsable(old, nowMs) || !(yield* isOwnName(driver, old, nowMs))) return false;
  insertToken(driver, token);
  endToken(driver, tokenId, nowMs);
  driver.append(tokenRefreshed(token, tokenId, input));
  return true;
}

export function* revokeToken(
  driver: WriteDriver,
  input: { tokenId: string; nowMs: number; origin: Origin | null },
): Act<boolean> {
  const token = yield* lockToken(input.tokenId);
  if (token === null) return false;
  endToken(driver, token.id, input.nowMs);
  if (token.revokedAt === null) driver.append(tokenRevoked(token, input));
  return true;
}

/** Its sessions end with it. The time of the first revocation stays. */
function endToken(driver: WriteDriver, tokenId: string, nowMs: number): void {
  driver.send("DELETE FROM sessions WHERE token_id = ?", tokenId);
  driver.send("UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", nowMs, tokenId);
}
