import { readFileSync } from "node:fs";
import { type PostgresCluster, withClient } from "../support/postgres-cluster.ts";

/** The address of a new database with what the dump holds. */
export async function loadDump(cluster: PostgresCluster, dump: string, name: string): Promise<string> {
  await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
  const url = cluster.url(name);
  await withClient(url, (client) => client.query(readFileSync(dump, "utf8")));
  return url;
}
