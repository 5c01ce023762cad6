import { statSync } from "node:fs";
import { WritError } from "../../../core/errors.ts";
import { type DatabaseCopy, refuseOtherSchema } from "../../database/database-copy.ts";
import { Connection } from "../database/connection.ts";
import { migrate, schemaVersion } from "../database/migrate.ts";
import { sqliteSteps } from "../database/schema-steps.ts";
import { refuseRows } from "../forms/file-form.ts";
import { SqliteCopy } from "./sqlite-copy.ts";

const busyTimeoutMs = 5_000;

/** Opens a database file to be copied, or as a target, which may still have to be made. Why: ADR 0086. */
export async function openFileCopy(
  path: string,
  { isTarget, macKey }: { isTarget: boolean; macKey: Buffer },
): Promise<DatabaseCopy> {
  const isNew = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (isNew && !isTarget) throw new WritError("CONFIG_INVALID", `there is no database at ${path}`);
  const sql = new Connection(path, busyTimeoutMs, { isOfHub: true });
  try {
    if (!isNew) {
      const schema = schemaVersion(sql);
      refuseRows(schema);
      refuseOtherSchema(path, sqliteSteps(), schema);
    }
    migrate(sql, () => {});
    const copy = new SqliteCopy(sql, path, macKey);
    // One that is only half filled has nothing in memory yet.
    if ((await copy.getIdentity()) !== null) copy.writeAllRows();
    return copy;
  } catch (error) {
    sql.close();
    throw error;
  }
}
