import { statSync } from "node:fs";
import { WritError } from "../../core/errors.ts";
import { type DatabasePlace, nameOf } from "./database-place.ts";
import { readKnownDatabase } from "./known-database.ts";
import { planMigration } from "./open-database.ts";

/** A database of a server is compared once it is open. */
export function isFileMissing(database: DatabasePlace): boolean {
  if (database.kind !== "file") return false;
  return (statSync(database.path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** A command has the settings of the shell, and not those of a service: the address is easily left out. */
export const missingAddress = "if it is in PostgreSQL, WRIT_DATABASE_URL is not set here";

/** Throws if the home has used a database and the one of the settings is missing or empty. */
export async function refuseMissing(home: string, database: DatabasePlace): Promise<void> {
  if (!(await isUnused(database)) || (await readKnownDatabase(home)) === null) return;
  throw new WritError(
    "CONFIG_INVALID",
    database.kind === "file"
      ? `there is no database at ${nameOf(database)}, but the home knows one; ${missingAddress}; otherwise put the file back, or restore a backup`
      : `the database ${nameOf(database)} is empty, but the home knows one; set WRIT_DATABASE_URL to that one, load its dump with pg_restore, or move the home's own database there with \`writ migrate --to postgres:\``,
  );
}

/** Throws if no hub has used the database yet, so that it has no content. */
export async function refuseUnused(home: string, database: DatabasePlace): Promise<void> {
  await refuseMissing(home, database);
  if (!(await isUnused(database))) return;
  throw new WritError(
    "CONFIG_INVALID",
    database.kind === "file"
      ? `there is no database at ${nameOf(database)}: no hub has run in ${home} yet; ${missingAddress}; otherwise start the hub once, or name another home with --home`
      : `the database ${nameOf(database)} is empty: no hub has used it yet; start the hub once, or set WRIT_DATABASE_URL to another one`,
  );
}

async function isUnused(database: DatabasePlace): Promise<boolean> {
  if (database.kind === "file") return isFileMissing(database);
  return (await planMigration(database)).schema === null;
}
