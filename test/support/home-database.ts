import { randomUUID } from "node:crypto";
import { withClient } from "./postgres-cluster.ts";

type Server = { url: string; template: string };

/** Where the hubs of this process keep their databases. Without a server, each has a file in its home. */
let server: Server | null = null;
const names = new Map<string, string>();

/** From now on, each hub that a test starts has a database of its own on this server. */
export function keepDatabasesOn(chosen: Server): void {
  server = chosen;
}

export function isOnServer(): boolean {
  return server !== null;
}

/** The settings of a hub for its database: the same ones whenever a hub starts in this home. */
export async function databaseEnv(home: string): Promise<Record<string, string>> {
  if (server === null) return {};
  if (!names.has(home)) {
    const name = `home_${randomUUID().replaceAll("-", "")}`;
    await onServer(server, `CREATE DATABASE ${name} TEMPLATE ${server.template}`);
    names.set(home, name);
  }
  return { WRIT_DATABASE_URL: databaseUrlOf(home)! };
}

/** Null if the database of this home is a file in it. */
export function databaseUrlOf(home: string): string | null {
  const name = names.get(home);
  return name === undefined ? null : databaseUrl(server!, name);
}

/** For a home that is removed. */
export async function dropDatabaseOf(home: string): Promise<void> {
  const name = names.get(home);
  if (name === undefined) return;
  names.delete(home);
  await onServer(server!, `DROP DATABASE ${name} WITH (FORCE)`);
}

function onServer(chosen: Server, statement: string): Promise<void> {
  return withClient(databaseUrl(chosen, "postgres"), (client) => client.query(statement));
}

function databaseUrl(chosen: Server, name: string): string {
  return `${chosen.url}/${name}`;
}
