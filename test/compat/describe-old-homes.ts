import { join } from "node:path";
import { describe, expect } from "vitest";
import { migrationNames } from "../../src/store/sqlite/migrate.ts";
import { planMigration } from "../../src/store/sqlite/plan-migration.ts";
import { describeOldHome } from "./describe-old-home.ts";
import { openOldHome } from "./old-home.ts";
import { testOldBackup } from "./test-old-backup.ts";

/** Of version 0.1.0: homes that were made since then have a backup beside them. */
const firstWithBackup = 25;

const newest = migrationNames().length;

/** Homes whose database is a file of one of these schemas. */
export function describeOldHomes(schemas: readonly number[]): void {
  describe.each(schemas)("a home of schema %i", (schema) => {
    describeOldHome(async () => {
      const old = openOldHome(schema);
      const { schema: found, steps } = planMigration(join(old.home, "writ.sqlite"));
      expect([found, steps.length]).toEqual([schema, newest - schema]);
      return { old, env: {} };
    });
  });

  describe.each(schemas.filter((schema) => schema >= firstWithBackup))("of schema %i", (schema) => {
    testOldBackup(async () => ({ old: openOldHome(schema), env: {} }));
  });
}
