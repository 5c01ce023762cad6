import { WritError } from "../../../core/errors.ts";

/**
 * SQLite 3.7.0 to 3.51.2 can lose or corrupt pages when a write-ahead log is reset while another connection reads. It
 * was fixed in 3.51.3, and also in 3.44.6 and 3.50.7. Why: ADR 0003.
 */
export function refuseUnsafeSqlite(version: string): void {
  if (!isSafeVersion(version)) {
    throw new WritError(
      "STORE_UNAVAILABLE",
      `this Node contains SQLite ${version}, whose write-ahead log can corrupt the database; use a Node with SQLite 3.51.3 or newer`,
    );
  }
}

export function isSafeVersion(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3) return major > 3;
  if (minor === 44) return patch >= 6;
  if (minor === 50) return patch >= 7;
  if (minor === 51) return patch >= 3;
  return minor > 51;
}
