import { join } from "node:path";
import type { HubSettings } from "../settings/settings.ts";

/** Where a hub's database is: a file of SQLite, or in PostgreSQL. Nothing else in the hub knows which. */
export type DatabasePlace = { kind: "file"; path: string } | { kind: "postgres"; url: string };

export function databaseOf(
  home: string,
  { databaseUrl, sqlitePath }: Pick<HubSettings, "databaseUrl" | "sqlitePath">,
): DatabasePlace {
  if (databaseUrl !== null) return { kind: "postgres", url: databaseUrl };
  return { kind: "file", path: sqlitePath ?? join(home, "writ.sqlite") };
}

/** For messages: an address may contain a password. */
export function nameOf(place: DatabasePlace): string {
  return place.kind === "file" ? place.path : "in WRIT_DATABASE_URL";
}
