import type { DatabasePlace } from "../database/database-place.ts";

/** The commands that dump and restore the tables of a hub in PostgreSQL. They ask for the password, or read ~/.pgpass. */
export function dumpCommand(place: Extract<DatabasePlace, { kind: "postgres" }>): string {
  return `pg_dump --format=custom --schema=writ --no-owner --file=writ.dump ${quoted(withoutPassword(place.url))}`;
}

export function loadCommand(place: Extract<DatabasePlace, { kind: "postgres" }>): string {
  return `pg_restore --no-owner --dbname=${quoted(withoutPassword(place.url))} writ.dump`;
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return "postgres://HOST/DATABASE";
  const address = new URL(url);
  address.password = "";
  // PostgreSQL's own programs have no such mode; without an authority's certificate, `require` has the same effect.
  if (address.searchParams.get("sslmode") === "no-verify") address.searchParams.set("sslmode", "require");
  return address.href;
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
