import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { migrationNames } from "./migrate.ts";

export type MigrationPlan = {
  /** The schema of the database, or null if there is none yet. */
  schema: number | null;
  newest: number;
  /** The names of the steps that an open would take, in order. */
  steps: string[];
};

/** Says what opening a database would change, without changing it. */
export function planMigration(path: string): MigrationPlan {
  const names = migrationNames();
  const newest = names.length;
  if (!existsSync(path)) return { schema: null, newest, steps: [] };
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const { user_version: schema } = database.prepare("PRAGMA user_version").get() as {
      user_version: number;
    };
    return { schema, newest, steps: names.slice(schema).map((name) => name.replace(/\.sql$/, "")) };
  } finally {
    database.close();
  }
}
