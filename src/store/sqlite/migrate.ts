import { readdirSync, readFileSync } from "node:fs";
import { WritError } from "../../core/errors.ts";
import type { Connection } from "./connection.ts";
import type { Failpoint } from "./failpoint.ts";

const folder = new URL("./migrations/", import.meta.url);

/** Migrates the schema, one transaction for each step, and returns its version. */
export function migrate(connection: Connection, failpoint: Failpoint): number {
  const steps = readSteps();
  const known = steps.length;
  const found = schemaVersion(connection);
  if (found > known) {
    throw new WritError(
      "STORE_UNAVAILABLE",
      `the database has schema ${found}, but this program knows schemas only up to ${known}; use the newer program`,
    );
  }
  for (const step of steps.slice(found)) applyStep(connection, step, failpoint);
  return known;
}

export function schemaVersion(connection: Connection): number {
  return connection.first<{ user_version: number }>("PRAGMA user_version")!.user_version;
}

type Step = { version: number; sql: string };

/** The files of all steps, oldest first. */
export function migrationNames(): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort();
}

function readSteps(): Step[] {
  return migrationNames().map((name, index) => {
    const version = Number(name.slice(0, 3));
    if (version !== index + 1) throw new Error(`migrations must be numbered without a gap; found ${name}`);
    return { version, sql: readFileSync(new URL(name, folder), "utf8") };
  });
}

/** The version is written in the same transaction, so an interrupted step is simply done again. */
function applyStep(connection: Connection, step: Step, failpoint: Failpoint): void {
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
