import type { MigrationPlan } from "../migration-plan.ts";
import { openServer } from "./check-server.ts";
import { getMove } from "./database-move.ts";
import { readIdentity } from "./identity.ts";
import { readSteps, schemaIfAny } from "./migrate.ts";
import { openingError } from "./postgres-error.ts";

/** The schema that came with `writ migrate`. */
const firstWithMoves = 5;

/** Says what opening a database would change, without changing it. */
export async function planMigration(url: string): Promise<MigrationPlan> {
  const known = readSteps();
  const connection = await openServer({ url });
  try {
    const schema = await schemaIfAny(connection);
    const steps = schema === null ? [] : known.slice(schema).map(({ name }) => name);
    const move = schema === null || schema < firstWithMoves ? null : await getMove(connection);
    const identity = schema === null ? null : await readIdentity(connection);
    return { schema, newest: known.length, steps, move, identity };
  } catch (error) {
    throw openingError(error);
  } finally {
    await connection.close();
  }
}
