import { afterAll } from "vitest";
import { openPostgresStore, type PostgresSettings } from "../../src/store/postgres/open-store.ts";
import { openAuditReader } from "../../src/store/postgres/reads/audit-reader.ts";
import { PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { postgresTamper } from "./postgres-tamper.ts";
import { macKey } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";

type PostgresUnderTest = StoreUnderTest & { url(): Promise<string> };

/** An empty database of one server for all tests of a file. To make a new one for each test would take a second. */
export function postgresUnderTest(settings: Partial<PostgresSettings> = {}): PostgresUnderTest {
  let borrowed: Promise<string> | null = null;
  const url = () => {
    borrowed ??= borrow();
    return borrowed;
  };
  return {
    url,
    open: async () => openPostgresStore({ url: await url(), macKey, ...settings }),
    openAuditReader: async () => openAuditReader(await url()),
    tamper: postgresTamper(url),
    remove: async () => {
      if (borrowed === null) return;
      await withClient(await borrowed, (client) => client.query(emptyText));
      free.push(await borrowed);
    },
  };
}

const emptyText = `DO $$
  DECLARE name text;
  BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'writ' AND tablename NOT IN ('schema_steps', 'log_state')
        AND tablename NOT LIKE 'events!_%' ESCAPE '!' AND tablename NOT LIKE 'audit!_seals!_%' ESCAPE '!' LOOP
      EXECUTE format('DELETE FROM writ.%I', name);
    END LOOP;
    UPDATE writ.log_state SET last = 0, version = 0, settings_version = 0, output_bytes = 0,
      pending = 0, assigned = 0, running = 0, completed = 0, failed = 0, quarantined = 0;
    ALTER SEQUENCE writ.job_seq RESTART;
  END $$`;

const free: string[] = [];
let made = 0;
let started: Promise<PostgresCluster> | null = null;

/** What is written need not outlive a power failure here, so nothing waits for the disk. */
function server(): Promise<PostgresCluster> {
  const settings = ["fsync=off", "full_page_writes=off", "max_connections=200"];
  started ??= PostgresCluster.start({ prefix: "writ-store-postgres-", settings });
  return started;
}

async function borrow(): Promise<string> {
  const cluster = await server();
  const url = free.pop();
  if (url !== undefined) return url;
  const name = `t${++made}`;
  await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
  return cluster.url(name);
}

afterAll(async () => {
  if (started !== null) await (await started).stop();
  started = null;
});
