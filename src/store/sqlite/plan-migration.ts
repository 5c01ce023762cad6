import { existsSync } from "node:fs";
import type { MigrationPlan } from "../migration-plan.ts";
import { Connection } from "./connection.ts";
import { getMove } from "./database-move.ts";
import { readIdentity } from "./identity.ts";
import { migrationNames, schemaVersion } from "./migrate.ts";

const busyTimeoutMs = 5_000;
/** The schema that came with `writ migrate`. */
const firstWithMoves = 25;
/** The schema since which a database has an id. */
const firstWithIdentity = 15;

/** Says what opening a database would change, without changing it. */
export function planMigration(path: string): MigrationPlan {
  const names = migrationNames();
  const newest = names.length;
  if (!existsSync(path)) return { schema: null, newest, steps: [], move: null, identity: null };
  const sql = new Connection(path, busyTimeoutMs, { isReader: true, isOfHub: true });
  try {
    const schema = schemaVersion(sql);
    const steps = names.slice(schema).map((name) => name.replace(/\.sql$/, ""));
    const move = schema < firstWithMoves ? null : getMove(sql);
    const identity = schema < firstWithIdentity ? null : readIdentity(sql);
    return { schema, newest, steps, move, identity };
  } finally {
    sql.close();
  }
}
