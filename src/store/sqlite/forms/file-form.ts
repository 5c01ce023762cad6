import { statSync } from "node:fs";
import { WritError } from "../../../core/errors.ts";
import { newestSchema } from "../../database/schema-steps.ts";
import { Connection, makePrivate } from "../database/connection.ts";
import { schemaVersion } from "../database/migrate.ts";
import { sqliteSteps } from "../database/schema-steps.ts";
import { newestOfRows, refuseOldRows } from "../rows/rows-schema.ts";

/**
 * How a SQLite file keeps jobs and events: in frames of groups with narrow rows behind them, or, if version 0.1 made it, in a row for
 * each. It is a property of the file, and its schema tells it. Why: ADR 0116, ADR 0121.
 */
type FileForm = "rows" | "frames";

/** The first schema of the form `frames`. Every program that knows only rows refuses a number as high as this. */
const firstOfFrames = 1_000;

const busyTimeoutMs = 5_000;
const othersBits = 0o077;

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
 * The same for the hub whose file it is. The files that SQLite puts beside a database get its mode when any program opens it, so others
 * are shut out first.
 */
export function readOwnFileForm(path: string): FileForm | null {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode !== undefined && (mode & othersBits) !== 0) makePrivate(path);
  return readFileForm(path);
}

/** Throws if a file of this schema is one of rows, which the store does not use; a hub takes it over first. */
export function refuseRows(schema: number): void {
  if (formOf(schema) !== "rows") return;
  refuseOldRows(schema);
  throw new WritError(
    "CONFIG_INVALID",
    `the database has schema ${schema}, of version 0.1; start its hub once with this program, which puts it into the form of today`,
  );
}

/** The form of a file of this schema; null if it has none. Throws if only a newer program knows the schema. */
function formOf(schema: number): FileForm | null {
  if (schema === 0) return null;
  const form = rangeOf(schema);
  const newest = form === "frames" ? newestSchema(sqliteSteps()) : newestOfRows;
  if (schema <= newest) return form;
  throw new WritError(
    "STORE_UNAVAILABLE",
    `the database has schema ${schema}, but this program knows schemas only up to ${newest}; use the newer program`,
    { advice: "" },
  );
}

/** The form to which the schema belongs, even if only a newer program knows it. */
export function rangeOf(schema: number): FileForm {
  return schema >= firstOfFrames ? "frames" : "rows";
}
