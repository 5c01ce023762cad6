import { newestSchema, readSteps, type SchemaStep, stepsAfter } from "../../database/schema-steps.ts";
import { type Connection, schema } from "../connection/connection.ts";
import { lockMigrationsText } from "../connection/locks.ts";
import { refuseForeignSchema } from "./foreign-schema.ts";

/** How the schema came to be, from version 0.1.0 on. */
export function schemaSteps(): SchemaStep[] {
  return readSteps(new URL("./migrations/", import.meta.url));
}

/**
 * Migrates the schema and returns its version. Of several hubs that start at once, one does it and the others wait. All
 * steps are one transaction: PostgreSQL takes definitions back like everything else. A step only ever adds what the version
 * before can live with; what is no longer used goes one version later, so that hubs can be replaced one by one.
 * Why: ADR 0078, ADR 0080.
 */
export async function migrate(connection: Connection): Promise<number> {
  const steps = schemaSteps();
  await connection.script("BEGIN");
  try {
    await connection.script(lockMigrationsText);
    await refuseForeignSchema(connection);
    await connection.script(
      `CREATE SCHEMA IF NOT EXISTS ${schema};
        CREATE TABLE IF NOT EXISTS ${schema}.schema_steps (version integer PRIMARY KEY, name text NOT NULL, at timestamptz NOT NULL DEFAULT now())`,
    );
    for (const { version, name, sql } of stepsAfter(steps, await schemaVersion(connection))) {
      await connection.script(sql);
      await connection.run("INSERT INTO schema_steps (version, name) VALUES ($1, $2)", version, name);
    }
    await connection.commit();
    return newestSchema(steps);
  } catch (error) {
    await connection.script("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** Null if the database has none of our schema yet. Throws if somebody else's tables are where ours would be. */
export async function schemaIfAny(connection: Connection): Promise<number | null> {
  await refuseForeignSchema(connection);
  const row = await connection.first<{ has: boolean }>(
    `SELECT to_regclass('${schema}.schema_steps') IS NOT NULL AS has`,
  );
  return row!.has ? schemaVersion(connection) : null;
}

export async function schemaVersion(connection: Connection): Promise<number> {
  const row = await connection.first<{ version: number }>(
    "SELECT coalesce(max(version), 0) AS version FROM schema_steps",
  );
  return row!.version;
}
