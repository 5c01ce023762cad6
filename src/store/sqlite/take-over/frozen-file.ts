import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { WritError } from "../../../core/errors.ts";
import { isBusy } from "../database/sqlite-error.ts";

const busyTimeoutMs = 5_000;

export type FrozenFile = {
  /** Which state of the file this is: another one as soon as somebody has written to it. */
  readonly state: string;
  release(): void;
};

/**
 * Moves everything of a database into its one file and lets no process write to it until it is released. A file without a log beside it
 * can be replaced by a rename: SQLite would take a log that is left there for that of the new file. Any version can use it again
 * afterwards. Why: ADR 0121.
 */
export function freezeFile(path: string): FrozenFile {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    // Takes the only lock there is for a moment, so that it fails if any other program has the file open.
    database.exec("PRAGMA journal_mode = DELETE; BEGIN; SELECT count(*) FROM sqlite_schema");
    return { state: stateOf(path), release: () => database.close() };
  } catch (error) {
    database.close();
    throw isBusy(error) ? inUse(path) : error;
  }
}

function stateOf(path: string): string {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
  return `${dev} ${ino} ${size} ${mtimeNs}`;
}

function inUse(path: string): WritError {
  return new WritError(
    "STORE_UNAVAILABLE",
    `another program has the database ${path} open, such as a backup or a check of the audit trail; wait until it has ended, and start again`,
    { advice: "" },
  );
}
