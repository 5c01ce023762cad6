import { existsSync } from "node:fs";
import { type MigrationPlan, planSteps } from "../../database/migration-plan.ts";
import type { SchemaStep } from "../../database/schema-steps.ts";
import { type FileForm, framedSchema, newFormDefault } from "../forms/file-form.ts";
import { Connection } from "./connection.ts";
import { getMove } from "./database-move.ts";
import { readIdentity } from "./identity.ts";
import { schemaSteps, schemaVersion } from "./migrate.ts";
import { storeUnavailable } from "./sqlite-error.ts";

const busyTimeoutMs = 5_000;

/**
 * Says what opening a database would change, without changing it. Throws if it is older than version 0.1.0.
 * Why: ADR 0078.
 */
export function planMigration(path: string, newForm = newFormDefault): MigrationPlan {
  if (!existsSync(path)) return planSteps(stepsOf(newForm), null);
  try {
    const sql = new Connection(path, busyTimeoutMs, { isReader: true, isOfHub: true });
    try {
      const schema = schemaVersion(sql);
      const form = schema === 0 ? newForm : schema >= framedSchema ? "frames" : "rows";
      const plan = planSteps(stepsOf(form), schema);
      return plan.schema === null ? plan : { ...plan, move: getMove(sql), identity: readIdentity(sql) };
    } finally {
      sql.close();
    }
  } catch (error) {
    throw storeUnavailable(error);
  }
}

/** A file of frames has one schema so far, which is made at once. */
function stepsOf(form: FileForm): SchemaStep[] {
  return form === "rows" ? schemaSteps() : [{ version: framedSchema, name: "group-frames", sql: "" }];
}
