import { existsSync, statSync } from "node:fs";
import { WritError } from "../../../core/errors.ts";
import { newestSchema } from "../../database/schema-steps.ts";
import { framedSteps } from "../../framed/framed-steps.ts";
import { Connection, makePrivate } from "../database/connection.ts";
import { schemaSteps, schemaVersion } from "../database/migrate.ts";

/**
 * How a SQLite file keeps jobs and events: a row for each, or frames of groups with narrow rows behind them. It is a property of the
 * file, and its schema tells it. Why: ADR 0116.
 */
export type FileForm = "rows" | "frames";

/** What a new file becomes by default. */
export const newFormDefault: FileForm = "frames";

/** The first schema of the form `frames`. Every program that knows only rows refuses a number as high as this. */
const firstOfFrames = 1_000;

const busyTimeoutMs = 5_000;

/** The form of a file; null if there is none yet, or nothing in it. Throws if it belongs to another program or to a newer one. */
export function readFileForm(path: string): FileForm | null {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return null;
  const sql = new Connection(path, busyTimeoutMs, { isReader: true, isOfHub: true });
  try {
    return formOf(schemaVersion(sql));
  } finally {
    sql.close();
  }
}

/**
 * The same for the hub whose file it is. The files that SQLite puts beside a database get its mode when anybody opens it, so others
 * are shut out first.
 */
export function readOwnFileForm(path: string): FileForm | null {
  if (existsSync(path)) makePrivate(path);
  return readFileForm(path);
}

/** For a driver that is about to use a file: it may have been made meanwhile, in the other form. */
export function refuseOtherForm(schema: number, expected: FileForm): void {
  const form = formOf(schema);
  if (form === expected || form === null) return;
  throw new WritError(
    "CONFIG_INVALID",
    `the database keeps jobs in ${form}, and was to be opened as one that keeps them in ${expected}; start the hub again, which looks first`,
  );
}

/** The form of a file of this schema; null if it has none. Throws if only a newer program knows the schema. */
function formOf(schema: number): FileForm | null {
  if (schema === 0) return null;
  const form = rangeOf(schema);
  const newest = newestSchema(form === "frames" ? framedSteps() : schemaSteps());
  if (schema <= newest) return form;
  throw new WritError(
    "STORE_UNAVAILABLE",
    `the database has schema ${schema}, but this program knows schemas only up to ${newest}; use the newer program`,
    { advice: "" },
  );
}

/** The form to which the schema belongs, also if only a newer program knows it. */
export function rangeOf(schema: number): FileForm {
  return schema >= firstOfFrames ? "frames" : "rows";
}
