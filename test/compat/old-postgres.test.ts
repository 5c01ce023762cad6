import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newestSchema } from "../../src/store/database/schema-steps.ts";
import { schemaSteps } from "../../src/store/postgres/database/migrate.ts";
import { planMigration } from "../../src/store/postgres/database/plan-migration.ts";
import { noPostgres, PostgresCluster } from "../support/postgres-cluster.ts";
import { describeOldHome } from "./describe-old-home.ts";
import { loadDump } from "./load-dump.ts";
import { openOldHome, schemasOfHomes } from "./old-home.ts";
import { testOldBackup } from "./test-old-backup.ts";

/** That of version 0.1.0. */
const oldest = schemaSteps()[0]!.version;
const newest = newestSchema(schemaSteps());

test("there is a home of every schema of PostgreSQL since version 0.1.0 and before the newest", () => {
  const older = Array.from({ length: newest - oldest }, (_, index) => oldest + index);
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

  const known = schemasOfHomes("postgres").filter((schema) => schema >= oldest);
  describe.each(known)("a home of schema %i", (schema) => {
    describeOldHome(async () => {
      const old = openOldHome(schema, "postgres");
      const url = await loadDump(cluster, old.dump, `schema_${schema}`);
      const { schema: found, steps } = await planMigration(url);
      expect([found, steps.length]).toEqual([schema, newest - schema]);
      return { old, env: { WRIT_DATABASE_URL: url } };
    });

    testOldBackup(async () => {
      const old = openOldHome(schema, "postgres");
      return { old, env: { WRIT_DATABASE_URL: await loadDump(cluster, old.dump, `backup_${schema}`) } };
    });
  });
});
