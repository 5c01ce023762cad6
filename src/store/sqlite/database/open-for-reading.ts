import { statSync } from "node:fs";
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { WritError } from "../../../core/errors.ts";
import { isNotOpened } from "./sqlite-error.ts";

/**
 * Opens a database that is only read. SQLite writes beside one even then, which it cannot on a disk that is mounted read-only. If no
 * log is beside it, as after a clean stop, the file is complete, and is read as one that does not change. Why: ADR 0135.
 */
export function openForReading(path: string, options: DatabaseSyncOptions): DatabaseSync {
  const database = new DatabaseSync(path, options);
  try {
    // The first statement that looks into the file.
    database.exec("PRAGMA schema_version");
    return database;
  } catch (error) {
    database.close();
    if (!isNotOpened(error) || !isThere(path)) throw error;
  }
  if (isThere(`${path}-wal`)) throw notComplete(path);
  const unchanging = pathToFileURL(path);
  unchanging.searchParams.set("immutable", "1");
  return new DatabaseSync(unchanging, options);
}

/** A file with something in it. */
function isThere(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function notComplete(path: string): WritError {
  return new WritError(
    "STORE_UNAVAILABLE",
    `the database ${path} cannot be read where nothing can be written, because its hub was not stopped cleanly or still runs; copy its whole folder to another disk, and use the copy`,
    { advice: "" },
  );
}
