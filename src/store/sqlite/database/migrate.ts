import { newestSchema, readSteps, type SchemaStep, stepsAfter } from "../../database/schema-steps.ts";
import type { Failpoint } from "../thread/failpoint.ts";
import type { Connection } from "./connection.ts";

/** How the schema came to be, from version 0.1.0 on. */
export function schemaSteps(): SchemaStep[] {
  return readSteps(new URL("./migrations/", import.meta.url));
}

/** Migrates the schema, one transaction for each step, and returns its version. Why: ADR 0078. */
export function migrate(connection: Connection, failpoint: Failpoint): number {
  const steps = schemaSteps();
  for (const step of stepsAfter(steps, schemaVersion(connection))) applyStep(connection, step, failpoint);
  return newestSchema(steps);
}

export function schemaVersion(connection: Connection): number {
  return connection.first<{ user_version: number }>("PRAGMA user_version")!.user_version;
}

/** The version is written in the same transaction, so an interrupted step is simply done again. */
function applyStep(connection: Connection, step: SchemaStep, failpoint: Failpoint): void {
  connection.script("BEGIN IMMEDIATE");
  try {
    connection.script(step.sql);
    connection.script(`PRAGMA user_version = ${step.version}`);
    failpoint(`migration.${step.version}.beforeCommit`);
    connection.script("COMMIT");
  } catch (error) {
    if (connection.inTransaction) connection.script("ROLLBACK");
    throw error;
  }
}
