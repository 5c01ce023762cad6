import { WritError } from "../../../core/errors.ts";
import { showForeign } from "../../database/foreign-names.ts";
import { type Connection, schema } from "../connection/connection.ts";

/** Ours begins with the table of its steps, made in the same transaction as the rest. */
const foreignText = `SELECT c.relname AS name FROM pg_class c
  WHERE c.relnamespace = to_regnamespace('${schema}') AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = to_regclass('${schema}.schema_steps')
      AND a.attname = 'version' AND NOT a.attisdropped)
  ORDER BY c.relkind = 'S', c.relname`;

/**
 * Throws if the schema holds tables, views or sequences but was not made by us: nothing of ours is put among them.
 * Why: ADR 0030.
 */
export async function refuseForeignSchema(connection: Connection): Promise<void> {
  const found = await connection.all<{ name: string }>(foreignText);
  if (found.length === 0) return;
  throw new WritError(
    "CONFIG_INVALID",
    `WRIT_DATABASE_URL: the schema ${schema} of this database belongs to another program; it holds ${showForeign(found)}; use an empty database, or rename that schema: ALTER SCHEMA ${schema} RENAME TO another_name`,
  );
}
