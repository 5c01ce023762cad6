import { readFileSync } from "node:fs";
import type { Connection } from "../sqlite/database/connection.ts";
import { schemaSteps, schemaVersion } from "../sqlite/database/migrate.ts";
import { framedSchema, refuseOtherForm } from "../sqlite/forms/file-form.ts";
import type { Failpoint } from "../sqlite/thread/failpoint.ts";

/**
 * Makes the tables of an empty database, in one transaction: a file that was left halfway would be one of rows. A database of the
 * driver beside this one is not taken over yet.
 */
export function migrate(sql: Connection, failpoint: Failpoint): number {
  // What is removed is overwritten, also where the file keeps it free for something else.
  sql.script("PRAGMA secure_delete = ON");
  if (schemaVersion(sql) === framedSchema) return framedSchema;
  sql.script("BEGIN IMMEDIATE");
  try {
    // Another store may have been faster.
    if (schemaVersion(sql) === 0) {
      for (const step of schemaSteps()) sql.script(step.sql);
      sql.script(readFileSync(new URL("./schema.sql", import.meta.url), "utf8"));
      sql.script(`PRAGMA user_version = ${framedSchema}`);
      failpoint(`migration.${framedSchema}.beforeCommit`);
    }
    refuseOtherForm(schemaVersion(sql), "frames");
    sql.script("COMMIT");
  } catch (error) {
    if (sql.inTransaction) sql.script("ROLLBACK");
    throw error;
  }
  return framedSchema;
}
