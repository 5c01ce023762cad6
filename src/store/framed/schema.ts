import { readFileSync } from "node:fs";
import type { Connection } from "../sqlite/database/connection.ts";
import { migrate as migrateRows, schemaVersion } from "../sqlite/database/migrate.ts";
import type { Failpoint } from "../sqlite/thread/failpoint.ts";

/** Higher than those of the driver beside this one, which refuses a file that it does not know. */
const framedVersion = 1_000;

/** Makes the tables of an empty database. A database with jobs of the driver beside this one is not taken over yet. */
export function migrate(sql: Connection, failpoint: Failpoint): number {
  if (schemaVersion(sql) === framedVersion) return framedVersion;
  migrateRows(sql, failpoint);
  sql.script("BEGIN IMMEDIATE");
  try {
    // Another store may have been faster.
    if (schemaVersion(sql) !== framedVersion) {
      if (sql.first("SELECT 1 FROM jobs LIMIT 1") !== null) throw new Error("this database has jobs in rows");
      sql.script(readFileSync(new URL("./schema.sql", import.meta.url), "utf8"));
      sql.script(`PRAGMA user_version = ${framedVersion}`);
    }
    sql.script("COMMIT");
  } catch (error) {
    if (sql.inTransaction) sql.script("ROLLBACK");
    throw error;
  }
  return framedVersion;
}
