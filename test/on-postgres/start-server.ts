import type { TestProject } from "vitest/node";
import { Connection } from "../../src/store/postgres/connection/connection.ts";
import { migrate } from "../../src/store/postgres/database/migrate.ts";
import { PostgresCluster, withClient } from "../support/postgres-cluster.ts";

declare module "vitest" {
  interface ProvidedContext {
    databaseServer: { url: string; template: string };
  }
}

const template = "migrated";
let cluster: PostgresCluster | null = null;

/** One server for all tests of a project. What is written need not outlive a power failure, so nothing waits for the disk. */
export async function setup(project: TestProject): Promise<void> {
  const settings = ["fsync=off", "full_page_writes=off", "max_connections=300"];
  cluster = await PostgresCluster.start({ prefix: "writ-on-postgres-", settings });
  await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${template}`));
  const connection = await Connection.open({ url: cluster.url(template) });
  await migrate(connection);
  await connection.close();
  project.provide("databaseServer", { url: cluster.url("").replace(/\/$/, ""), template });
}

export async function teardown(): Promise<void> {
  await cluster?.stop();
}
