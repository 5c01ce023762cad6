import { newestSchema, stepsAfter } from "../../database/schema-steps.ts";
import { refuseRows } from "../forms/file-form.ts";
import type { Failpoint } from "../thread/failpoint.ts";
import type { Connection } from "./connection.ts";
import { sqliteSteps } from "./schema-steps.ts";

/**
 * Makes the tables of an empty database, or takes the steps that one of an earlier version lacks, in one transaction: a file that was
 * left halfway would be of no version. A file of rows is taken over before it is opened here. Why: ADR 0078, ADR 0116.
 */
export function migrate(sql: Connection, failpoint: Failpoint, steps = sqliteSteps()): number {
  // What is removed is overwritten, also where the file keeps it free for something else.
  sql.script("PRAGMA secure_delete = ON");
  const newest = newestSchema(steps);
  if (schemaVersion(sql) === newest) return newest;
  sql.script("BEGIN IMMEDIATE");
  try {
    // Another store may have been faster.
    const found = schemaVersion(sql);
    refuseRows(found);
    for (const step of stepsAfter(steps, found)) sql.script(step.sql);
    sql.script(`PRAGMA user_version = ${newest}`);
    failpoint(`migration.${newest}.beforeCommit`);
    sql.script("COMMIT");
  } catch (error) {
    if (sql.inTransaction) sql.script("ROLLBACK");
    throw error;
  }
  return newest;
}

export function schemaVersion(connection: Connection): number {
  return connection.first<{ user_version: number }>("PRAGMA user_version")!.user_version;
}
