import type { DatabaseSync } from "node:sqlite";
import { WritError } from "../../../core/errors.ts";
import { showForeign } from "../../database/foreign-names.ts";

/** A hub's file has this table since its first step, which is one transaction. */
const foreignText = `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
  AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'paused_types') ORDER BY name`;

/**
 * Throws if the file holds tables or views but was not made by us: nothing of ours is put among them. Why: ADR 0030.
 */
export function refuseForeignFile(database: DatabaseSync, path: string): void {
  const found = database.prepare(foreignText).all() as { name: string }[];
  if (found.length === 0) return;
  throw new WritError(
    "CONFIG_INVALID",
    `the file ${path} belongs to another program; it holds ${showForeign(found)}; name a file that does not exist yet`,
  );
}
