import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { migrationNames } from "../../src/store/sqlite/migrate.ts";
import { planMigration } from "../../src/store/sqlite/plan-migration.ts";
import { describeOldHome } from "./describe-old-home.ts";
import { openOldHome, schemasOfHomes } from "./old-home.ts";
import { testOldBackup } from "./test-old-backup.ts";

/** Schemas that no commit had as its newest, with the reason: there is no program that could make their home. */
const neverAlone: Record<number, string> = { 2: "came with 3, in commit de2c836" };

/** Of version 0.1.0: homes that were made since then have a backup beside them. */
const firstWithBackup = 25;

const newest = migrationNames().length;

test("there is a home of every schema before the newest", () => {
  const older = Array.from({ length: newest - 1 }, (_, index) => index + 1);
  const missing = older.filter((schema) => !schemasOfHomes().includes(schema) && !(schema in neverAlone));
  expect(
    missing,
    "make each with test/compat/make-home.mjs and the last commit that had it as its newest",
  ).toEqual([]);
});

describe.each(schemasOfHomes())("a home of schema %i", (schema) => {
  describeOldHome(async () => {
    const old = openOldHome(schema);
    const { schema: found, steps } = planMigration(join(old.home, "writ.sqlite"));
    expect([found, steps.length]).toEqual([schema, newest - schema]);
    return { old, env: {} };
  });
});

describe.each(schemasOfHomes().filter((schema) => schema >= firstWithBackup))("of schema %i", (schema) => {
  testOldBackup(async () => ({ old: openOldHome(schema), env: {} }));
});
