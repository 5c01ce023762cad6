import { WritError } from "../../core/errors.ts";
import { checkValueOf } from "../../signing/mac.ts";

/** Which database this is, and a check value of the key that seals its documents. Why: ADR 0030. */
export type DatabaseIdentity = { id: string; key_check: string };

export function isSealedBy(macKey: Buffer, { id, key_check }: DatabaseIdentity): boolean {
  return key_check === checkValueOf(macKey, id);
}

/** The file of a database, or null for one of a server. */
export function otherKeys(path: string | null): WritError {
  const another = path === null ? "database" : "SQLITE_PATH";
  return new WritError(
    "KEY_REJECTED",
    `${nameOf(path)} belongs to a hub with other keys; give this hub the same keys (WRIT_KEYS_DIR), or another ${another}`,
  );
}

export function noKeys(path: string | null, keysDir: string): WritError {
  return new WritError(
    "KEY_REJECTED",
    `${nameOf(path)} belongs to a hub with keys, and ${keysDir} has none; mount that folder, or name the right one with WRIT_KEYS_DIR`,
  );
}

function nameOf(path: string | null): string {
  return path === null ? "the database in WRIT_DATABASE_URL" : `the database ${path}`;
}
