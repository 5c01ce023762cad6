import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { SqliteCopy } from "../copy/sqlite-copy.ts";
import { Connection } from "../database/connection.ts";
import { migrate } from "../database/migrate.ts";

const busyTimeoutMs = 5_000;

/** The file that becomes the database is beside it, because a rename needs the same disk. */
export function partPathOf(path: string): string {
  return `${path}.frames`;
}

/**
 * Opens the file that is being filled from this state of a database. What was filled from another state is of no use, and neither is
 * what cannot be read. Why: ADR 0121.
 */
export function openPart(path: string, { state, macKey }: { state: string; macKey: Buffer }): SqliteCopy {
  if (existsSync(path) && filledFrom(path) !== state) removePart(path);
  const sql = new Connection(path, busyTimeoutMs);
  try {
    migrate(sql, () => {});
    sql.script("CREATE TABLE IF NOT EXISTS filled_from (state TEXT NOT NULL)");
    if (sql.first("SELECT 1 FROM filled_from") === null) sql.run("INSERT INTO filled_from VALUES (?)", state);
    return new SqliteCopy(sql, path, macKey);
  } catch (error) {
    sql.close();
    throw error;
  }
}

function filledFrom(path: string): string | null {
  try {
    const sql = new Connection(path, busyTimeoutMs, { isReader: true });
    try {
      return sql.first<{ state: string }>("SELECT state FROM filled_from")?.state ?? null;
    } finally {
      sql.close();
    }
  } catch {
    return null;
  }
}

function removePart(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${path}${suffix}`, { force: true });
}

/** Makes the part the database: everything of it is on the disk before the one rename that does it. */
export function putInPlace(part: string, path: string): void {
  const sql = new Connection(part, busyTimeoutMs);
  try {
    sql.script("DROP TABLE IF EXISTS filled_from; PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    // Closed by the last one that has it open, a database has no log any more.
    sql.close();
  }
  if (existsSync(`${part}-wal`)) throw new Error(`${part} still has a log beside it`);
  syncFile(part);
  renameSync(part, path);
  syncFile(dirname(path));
}

function syncFile(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
