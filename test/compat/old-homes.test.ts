import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newestSchema } from "../../src/store/database/schema-steps.ts";
import { planMigration } from "../../src/store/sqlite/database/plan-migration.ts";
import { sqliteSteps } from "../../src/store/sqlite/database/schema-steps.ts";
import { readFileForm } from "../../src/store/sqlite/forms/file-form.ts";
import { describeOldHome } from "./describe-old-home.ts";
import { openOldHome, schemasOfHomes } from "./old-home.ts";
import { testOldBackup } from "./test-old-backup.ts";

/** Those of files of rows, from version 0.1.0 to the last. */
const ofRows = [25, 26, 27, 28];
const firstOfFrames = sqliteSteps()[0]!.version;
const newest = newestSchema(sqliteSteps());

test("there is a home of every schema since version 0.1.0 and before the newest", () => {
  const ofFrames = Array.from({ length: newest - firstOfFrames }, (_, index) => firstOfFrames + index);
  const missing = [...ofRows, ...ofFrames].filter((schema) => !schemasOfHomes("homes").includes(schema));
  expect(
    missing,
    "make each with test/compat/make-home.mjs and the last commit that had it as its newest",
  ).toEqual([]);
});

describe.each(schemasOfHomes("homes").filter((schema) => schema >= ofRows[0]!))(
  "a home of schema %i",
  (schema) => {
    describeOldHome(async () => {
      const old = openOldHome(schema, "homes");
      const path = join(old.home, "writ.sqlite");
      const isOfFrames = schema >= firstOfFrames;
      expect(readFileForm(path)).toBe(isOfFrames ? "frames" : "rows");
      if (isOfFrames) expect(planMigration(path)).toMatchObject({ schema, newest });
      return { old, env: {} };
    });

    testOldBackup(async () => ({ old: openOldHome(schema, "homes"), env: {} }));
  },
);

describe("a home of schema 1 that version 0.1.0 has upgraded", () => {
  describeOldHome(async () => ({ old: openOldHome(1, "passed"), env: {} }));
});
