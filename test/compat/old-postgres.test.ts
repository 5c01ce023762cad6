import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readSteps } from "../../src/store/postgres/migrate.ts";
import { planMigration } from "../../src/store/postgres/plan-migration.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { describeOldHome } from "./describe-old-home.ts";
import { openOldHome, schemasOfHomes } from "./old-home.ts";
import { testOldBackup } from "./test-old-backup.ts";

/** The newest schema of the first commit with PostgreSQL: no program had an older one. */
const first = 5;

/** Of version 0.1.0: homes that were made since then have a backup beside them. */
const firstWithBackup = 7;

const newest = readSteps().length;

test("there is a home of every schema of PostgreSQL before the newest", () => {
  const older = Array.from({ length: newest - first }, (_, index) => first + index);
  const missing = older.filter((schema) => !schemasOfHomes("postgres").includes(schema));
  expect(
    missing,
    "make each with test/compat/make-home.mjs --postgres and the last commit that had it as its newest",
  ).toEqual([]);
});

describe.skipIf(noPostgres !== undefined)(`on PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`, () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
  });
  afterAll(() => cluster.stop());

  /** The address of a new database with what the dump holds. */
  async function load(dump: string, name: string): Promise<string> {
    await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
    const url = cluster.url(name);
    await withClient(url, (client) => client.query(readFileSync(dump, "utf8")));
    return url;
  }

  describe.each(schemasOfHomes("postgres"))("a home of schema %i", (schema) => {
    describeOldHome(async () => {
      const old = openOldHome(schema, "postgres");
      const url = await load(old.dump, `schema_${schema}`);
      const { schema: found, steps } = await planMigration(url);
      expect([found, steps.length]).toEqual([schema, newest - schema]);
      return { old, env: { WRIT_DATABASE_URL: url } };
    });
  });

  const withBackup = schemasOfHomes("postgres").filter((schema) => schema >= firstWithBackup);
  describe.each(withBackup)("of schema %i", (schema) => {
    testOldBackup(async () => {
      const old = openOldHome(schema, "postgres");
      return { old, env: { WRIT_DATABASE_URL: await load(old.dump, `backup_${schema}`) } };
    });
  });
});
