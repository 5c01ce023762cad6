import { WritError } from "../../../core/errors.ts";

/**
 * What an SQLite error means for us. `act`: only this act is wrong. `transaction`: the whole transaction is lost, but
 * the connection is fine. `connection`: the connection's view of the files may be wrong, so it is closed. In
 * particular, a failed fsync must never be retried on it, because the kernel may have dropped the pages.
 */
type Blame = "act" | "transaction" | "connection";

const SQLITE_ERROR = 1;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_NOMEM = 7;
const SQLITE_READONLY = 8;
const SQLITE_INTERRUPT = 9;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_TOOBIG = 18;
const SQLITE_CONSTRAINT = 19;
const SQLITE_MISMATCH = 20;
const SQLITE_RANGE = 25;

const blameOf = new Map<number, Blame>([
  [SQLITE_ERROR, "act"],
  [SQLITE_TOOBIG, "act"],
  [SQLITE_CONSTRAINT, "act"],
  [SQLITE_MISMATCH, "act"],
  [SQLITE_RANGE, "act"],
  [SQLITE_BUSY, "transaction"],
  [SQLITE_LOCKED, "transaction"],
  [SQLITE_NOMEM, "transaction"],
  [SQLITE_INTERRUPT, "transaction"],
  [SQLITE_FULL, "transaction"],
]);

export function blame(error: unknown): Blame {
  const primary = primaryCode(error);
  return primary === null ? "act" : (blameOf.get(primary) ?? "connection");
}

/**
 * Whether a statement failed because of what is stored: a broken page, or a number that no column of ours can hold.
 * Why: ADR 0029.
 */
export function isDamage(error: unknown): boolean {
  if (primaryCode(error) === SQLITE_CORRUPT) return true;
  return error instanceof Error && "code" in error && error.code === "ERR_OUT_OF_RANGE";
}

/** Whether the files of the database could not be opened, or not be made. */
export function isNotOpened(error: unknown): boolean {
  const code = primaryCode(error);
  return code === SQLITE_CANTOPEN || code === SQLITE_READONLY;
}

/** Whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === SQLITE_BUSY;
}

/** The error as callers see it. */
export function storeUnavailable(error: unknown): WritError {
  if (error instanceof WritError) return error;
  const primary = primaryCode(error);
  const reasons = new Map([
    [SQLITE_BUSY, "another program has locked the database; nothing was changed"],
    [SQLITE_FULL, "the disk of the database is full; nothing was changed"],
  ]);
  // After a failed sync, the log may or may not contain the commit; a caller that retries must use the same key.
  const unknown = "the database does not answer; whether the call was stored is not known";
  return new WritError("STORE_UNAVAILABLE", (primary !== null && reasons.get(primary)) || unknown, {
    reason: error instanceof Error ? error.message : String(error),
    ...(primary === SQLITE_FULL && { full: true }),
  });
}

/** The low byte; the rest says where it happened. Null if the error is not SQLite's. */
function primaryCode(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error)) return null;
  return Number(error.errcode) & 0xff;
}
