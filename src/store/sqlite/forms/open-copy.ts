import { statSync } from "node:fs";
import { WritError } from "../../../core/errors.ts";
import { type DatabaseCopy, refuseOtherSchema } from "../../database/database-copy.ts";
import { FramedCopy } from "../../framed/copy/framed-copy.ts";
import { migrate as migrateFrames } from "../../framed/schema.ts";
import { Connection } from "../database/connection.ts";
import { SqliteCopy } from "../database/copy-database.ts";
import { migrate, schemaSteps, schemaVersion } from "../database/migrate.ts";
import { type FileForm, framedSchema, newFormDefault } from "./file-form.ts";

const busyTimeoutMs = 5_000;

type Wanted = {
  isTarget: boolean;
  macKey: Buffer;
  /** Of a target that still has to be made. */
  newForm?: FileForm | undefined;
};

/** Opens a database file to be copied, or as a target, which may still have to be made. Why: ADR 0121. */
export async function openFileCopy(
  path: string,
  { isTarget, macKey, newForm = newFormDefault }: Wanted,
): Promise<DatabaseCopy> {
  const isNew = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (isNew && !isTarget) throw new WritError("CONFIG_INVALID", `there is no database at ${path}`);
  const sql = new Connection(path, busyTimeoutMs, { isOfHub: true });
  try {
    const isFramed = isNew ? newForm === "frames" : schemaVersion(sql) === framedSchema;
    if (isFramed) return await openFrames(sql, { path, macKey });
    if (isNew) migrate(sql, () => {});
    else refuseOtherSchema(path, schemaSteps(), schemaVersion(sql));
    return new SqliteCopy(sql, path);
  } catch (error) {
    sql.close();
    throw error;
  }
}

async function openFrames(
  sql: Connection,
  { path, macKey }: { path: string; macKey: Buffer },
): Promise<FramedCopy> {
  migrateFrames(sql, () => {});
  const copy = new FramedCopy(sql, path, macKey);
  // One that is only half filled has nothing in memory yet.
  if ((await copy.getIdentity()) !== null) copy.writeAllRows();
  return copy;
}
