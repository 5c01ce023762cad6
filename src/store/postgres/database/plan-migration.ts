import { type MigrationPlan, planSteps } from "../../database/migration-plan.ts";
import { openServer } from "../connection/check-server.ts";
import { openingError } from "../connection/postgres-error.ts";
import { getMove } from "./database-move.ts";
import { readIdentity } from "./identity.ts";
import { schemaIfAny, schemaSteps } from "./migrate.ts";

/**
 * Says what opening a database would change, without changing it. Throws if it is older than version 0.1.0.
 * Why: ADR 0078.
 */
export async function planMigration(url: string): Promise<MigrationPlan> {
  const connection = await openServer({ url });
  try {
    const plan = planSteps(schemaSteps(), await schemaIfAny(connection));
    if (plan.schema === null) return plan;
    return { ...plan, move: await getMove(connection), identity: await readIdentity(connection) };
  } catch (error) {
    throw openingError(error);
  } finally {
    await connection.close();
  }
}
