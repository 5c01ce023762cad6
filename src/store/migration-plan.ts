import type { DatabaseMove } from "./database-copy.ts";
import type { DatabaseIdentity } from "./database-identity.ts";

/** What opening a database would change. */
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
