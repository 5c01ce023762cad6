import { join } from "node:path";
import type { HubSettings } from "../settings/settings.ts";

/** The place of a hub's database: a file of SQLite, or PostgreSQL. No other part of the hub knows which. */
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
