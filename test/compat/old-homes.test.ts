import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newestSchema } from "../../src/store/database/schema-steps.ts";
import { schemaSteps } from "../../src/store/sqlite/database/migrate.ts";
import { planMigration } from "../../src/store/sqlite/database/plan-migration.ts";
import { describeOldHome } from "./describe-old-home.ts";
import { openOldHome, schemasOfHomes } from "./old-home.ts";
import { testOldBackup } from "./test-old-backup.ts";

/** That of version 0.1.0. */
const oldest = schemaSteps()[0]!.version;
const newest = newestSchema(schemaSteps());

test("there is a home of every schema since version 0.1.0 and before the newest", () => {
  const older = Array.from({ length: newest - oldest }, (_, index) => oldest + index);
  const missing = older.filter((schema) => !schemasOfHomes("homes").includes(schema));
  expect(
    missing,
    "make each with test/compat/make-home.mjs and the last commit that had it as its newest",
  ).toEqual([]);
});

describe.each(schemasOfHomes("homes").filter((schema) => schema >= oldest))(
  "a home of schema %i",
  (schema) => {
    describeOldHome(async () => {
      const old = openOldHome(schema, "homes");
      const { schema: found, steps } = planMigration(join(old.home, "writ.sqlite"));
      expect([found, steps.length]).toEqual([schema, newest - schema]);
      return { old, env: {} };
    });

    testOldBackup(async () => ({ old: openOldHome(schema, "homes"), env: {} }));
  },
);

describe("a home of schema 1 that version 0.1.0 has upgraded", () => {
  describeOldHome(async () => ({ old: openOldHome(1, "passed"), env: {} }));
});
