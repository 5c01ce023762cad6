import { existsSync } from "node:fs";
import { type MigrationPlan, planSteps } from "../../database/migration-plan.ts";
import { rangeOf } from "../forms/file-form.ts";
import { refuseOldRows } from "../rows/rows-schema.ts";
import { Connection } from "./connection.ts";
import { getMove } from "./database-move.ts";
import { readIdentity } from "./identity.ts";
import { schemaVersion } from "./migrate.ts";
import { sqliteSteps } from "./schema-steps.ts";
import { storeUnavailable } from "./sqlite-error.ts";

const busyTimeoutMs = 5_000;

/**
 * Says what opening a database would change, without changing it. A file of rows takes no steps: it is taken over as it is. Throws if it
 * is older than version 0.1.0. Why: ADR 0078.
 */
export function planMigration(path: string): MigrationPlan {
  if (!existsSync(path)) return planSteps(sqliteSteps(), null);
  try {
    const sql = new Connection(path, busyTimeoutMs, { isReader: true, isOfHub: true });
    try {
      const schema = schemaVersion(sql);
      const plan = planOf(schema);
      return plan.schema === null ? plan : { ...plan, move: getMove(sql), identity: readIdentity(sql) };
    } finally {
      sql.close();
    }
  } catch (error) {
    throw storeUnavailable(error);
  }
}

function planOf(schema: number): MigrationPlan {
  if (schema === 0 || rangeOf(schema) === "frames") return planSteps(sqliteSteps(), schema);
  refuseOldRows(schema);
  return { ...planSteps(sqliteSteps(), null), schema };
}
