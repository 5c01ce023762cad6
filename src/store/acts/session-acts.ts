// Sessions of browsers, and codes to log in with. Why: ADR 0111.
import { clearedMax, type NewSession, type TokenRecord } from "../access-store.ts";
import { loggedIn } from "../log/act-events.ts";
import { type Act, first, run } from "./act.ts";
import { Columns, number, text } from "./columns.ts";
import type { ReadDriver, WriteDriver } from "./driver.ts";
import { getToken, tokenColumns } from "./token-acts.ts";

export function* createSession(driver: WriteDriver, session: NewSession): Act<void> {
  const { secretHash, endedHash = null, tokenId, expiresAt, nowMs } = session;
  driver.send(
    `DELETE FROM sessions WHERE secret_hash IN (
        SELECT secret_hash FROM sessions WHERE expires_at <= ? LIMIT ? FOR UPDATE SKIP LOCKED)`,
    nowMs,
    clearedMax,
  );
  if (endedHash !== null) driver.send("DELETE FROM sessions WHERE secret_hash = ?", endedHash);
  driver.send(
    "INSERT INTO sessions (secret_hash, token_id, expires_at) VALUES (?, ?, ?)",
    secretHash,
    tokenId,
    expiresAt,
  );
  const token = yield* getToken(tokenId);
  driver.append(loggedIn(token!, session));
}

const sessions = new Columns<TokenRecord & { sessionEndsAt: number }>({
  ...tokenColumns,
  sessionEndsAt: number("sessions.expires_at"),
});

/** Expired sessions are returned too; the caller decides and says why. */
export function* findSession(
  _: ReadDriver,
  { secretHash }: { secretHash: string },
): Act<{ token: TokenRecord; expiresAt: number } | null> {
  const row = yield* first(
    sessions,
    `SELECT ${sessions.list} FROM sessions JOIN tokens ON tokens.id = sessions.token_id
      WHERE sessions.secret_hash = ?`,
    secretHash,
  );
  if (row === null) return null;
  const { sessionEndsAt: expiresAt, ...token } = row;
  return { token, expiresAt };
}

export function* removeSession(_: WriteDriver, { secretHash }: { secretHash: string }): Act<boolean> {
  return (yield* run("DELETE FROM sessions WHERE secret_hash = ?", secretHash)) > 0;
}

type NewLoginCode = { codeHash: string; tokenId: string; expiresAt: number; nowMs: number };

export function* createLoginCode(_: WriteDriver, code: NewLoginCode): Act<void> {
  yield* run("DELETE FROM login_codes WHERE expires_at <= ?", code.nowMs);
  yield* run(
    "INSERT INTO login_codes (code_hash, token_id, expires_at) VALUES (?, ?, ?)",
    code.codeHash,
    code.tokenId,
    code.expiresAt,
  );
}

const loginCodes = new Columns({ tokenId: text("token_id"), expiresAt: number("expires_at") });

export function* takeLoginCode(
  _: WriteDriver,
  { codeHash, nowMs }: { codeHash: string; nowMs: number },
): Act<TokenRecord | null> {
  const code = yield* first(
    loginCodes,
    `DELETE FROM login_codes WHERE code_hash = ? RETURNING ${loginCodes.list}`,
    codeHash,
  );
  return code === null || code.expiresAt <= nowMs ? null : yield* getToken(code.tokenId);
}
