import type { DatabaseInUse, FoundDatabase } from "../../database/database-in-use.ts";
import type { Connection } from "../connection/connection.ts";
import { stateOf } from "../connection/postgres-error.ts";

const foundText = `SELECT id, last AS "lastSeq", pg_is_in_recovery() AS "isCopy",
    (SELECT concat(ts, ' ', event, ' ', job_id) FROM events WHERE seq = $1) AS record
  FROM database_identity, log_state`;

const noTable = "42P01";
const noDatabase = "3D000";

/**
 * Throws if the connection leads to another database than the one in use, or to an older state of it. Why: ADR 0030.
 */
export function compareDatabase(
  sql: Connection,
  inUse: DatabaseInUse,
): Promise<{ id: string; lastSeq: number }> {
  return inUse.compare(async (recordSeq) => {
    try {
      return await sql.first<FoundDatabase>(foundText, recordSeq);
    } catch (error) {
      if (stateOf(error) === noTable) return null;
      throw error;
    }
  });
}

/** At the first start a database that does not exist has to be created; one that was in use is lost. */
export function isDropped(error: unknown, inUse: DatabaseInUse): boolean {
  return inUse.isOpen && stateOf(error) === noDatabase;
}
