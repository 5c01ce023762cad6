import { TableCopy } from "../copy/table-copy.ts";
import { Connection } from "../database/connection.ts";
import { schemaVersion } from "../database/migrate.ts";
import { refuseOldRows } from "./rows-schema.ts";

const busyTimeoutMs = 5_000;

/**
 * A file of rows as it is, of any schema since version 0.1.0: nothing is changed in it, so that the version which wrote it can still
 * use it. Throws if it is older. Why: ADR 0121.
 */
export function openRows(path: string): TableCopy {
  const sql = new Connection(path, busyTimeoutMs, { isReader: true, isOfHub: true });
  try {
    refuseOldRows(schemaVersion(sql));
    return new TableCopy(sql, path, { isAsStored: true });
  } catch (error) {
    sql.close();
    throw error;
  }
}
