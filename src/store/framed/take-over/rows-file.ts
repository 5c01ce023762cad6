import { refuseOldSchema } from "../../database/schema-steps.ts";
import { Connection } from "../../sqlite/database/connection.ts";
import { SqliteCopy } from "../../sqlite/database/copy-database.ts";
import { schemaSteps, schemaVersion } from "../../sqlite/database/migrate.ts";

const busyTimeoutMs = 5_000;

/**
 * A file of rows as it is, of any schema since version 0.1.0: nothing is changed in it, so that the version which wrote it can still
 * use it. Throws if it is older. Why: ADR 0121.
 */
export function openRows(path: string): SqliteCopy {
  const sql = new Connection(path, busyTimeoutMs, { isReader: true, isOfHub: true });
  try {
    refuseOldSchema(schemaSteps(), schemaVersion(sql));
    return new SqliteCopy(sql, path, { isAsStored: true });
  } catch (error) {
    sql.close();
    throw error;
  }
}
