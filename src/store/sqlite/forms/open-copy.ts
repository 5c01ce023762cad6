import { statSync } from "node:fs";
import { WritError } from "../../../core/errors.ts";
import { type DatabaseCopy, refuseOtherSchema } from "../../database/database-copy.ts";
import { FramedCopy } from "../../framed/copy/framed-copy.ts";
import { framedSteps } from "../../framed/framed-steps.ts";
import { migrate } from "../../framed/schema.ts";
import { Connection } from "../database/connection.ts";
import { schemaVersion } from "../database/migrate.ts";
import { rangeOf } from "./file-form.ts";

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
      if (rangeOf(schema) === "rows") throw ofRows(path, schema);
      refuseOtherSchema(path, framedSteps(), schema);
    }
    migrate(sql, () => {});
    const copy = new FramedCopy(sql, path, macKey);
    // One that is only half filled has nothing in memory yet.
    if ((await copy.getIdentity()) !== null) copy.writeAllRows();
    return copy;
  } catch (error) {
    sql.close();
    throw error;
  }
}

function ofRows(path: string, schema: number): WritError {
  return new WritError(
    "CONFIG_INVALID",
    `the database ${path} has schema ${schema}, of version 0.1; start its hub once with this program, which puts it into the form of today`,
  );
}
