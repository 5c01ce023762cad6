import type { DatabaseMove } from "./database-copy.ts";
import type { DatabaseIdentity } from "./database-identity.ts";
import { newestSchema, refuseOldSchema, type SchemaStep } from "./schema-steps.ts";

/** What opening a database would change. Why: ADR 0078. */
export type MigrationPlan = {
  /** The schema of the database, or null if there is none yet. */
  schema: number | null;
  newest: number;
  /** The names of the steps that an open would take, in order. */
  steps: string[];
  /** If it was moved, or is only half filled, no hub may use it. */
  move: DatabaseMove | null;
  /** Null if it has none yet. */
  identity: DatabaseIdentity | null;
};

/** The plan for a database of this schema, null or 0 if it has none, as far as the schema decides it. */
export function planSteps(steps: readonly SchemaStep[], found: number | null): MigrationPlan {
  const newest = newestSchema(steps);
  const nothing = { newest, steps: [], move: null, identity: null };
  if (found === null || found === 0) return { schema: null, ...nothing };
  refuseOldSchema(steps[0]!.version, found);
  const needed = steps.filter(({ version }) => version > found).map(({ name }) => name);
  return { schema: found, ...nothing, steps: needed };
}
