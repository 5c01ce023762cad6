import { join } from "node:path";
import type { FileForm } from "../../store/sqlite/forms/file-form.ts";
import type { HubSettings } from "../settings/settings.ts";

/** The place of a hub's database: a file of SQLite, or PostgreSQL. No other part of the hub knows which. */
export type DatabasePlace =
  // `newForm` is what becomes of a file that is made there; one that exists keeps its own.
  { kind: "file"; path: string; newForm?: FileForm | undefined } | { kind: "postgres"; url: string };

type DatabaseSettings = Pick<HubSettings, "databaseUrl" | "sqlitePath"> &
  Partial<Pick<HubSettings, "sqliteForm">>;

export function databaseOf(
  home: string,
  { databaseUrl, sqlitePath, sqliteForm }: DatabaseSettings,
): DatabasePlace {
  if (databaseUrl !== null) return { kind: "postgres", url: databaseUrl };
  return { kind: "file", path: sqlitePath ?? join(home, "writ.sqlite"), newForm: sqliteForm };
}

/** For messages: an address may contain a password. */
export function nameOf(place: DatabasePlace): string {
  return place.kind === "file" ? place.path : "in WRIT_DATABASE_URL";
}
