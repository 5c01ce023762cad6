import { expect, test } from "vitest";
import { migrationNames } from "../../src/store/sqlite/migrate.ts";
import { describeOldHomes } from "./describe-old-homes.ts";
import { schemasOfHomes } from "./old-home.ts";

/** Schemas that no commit had as its newest, with the reason: there is no program that could make their home. */
const neverAlone: Record<number, string> = { 2: "came with 3, in commit de2c836" };

const newest = migrationNames().length;

test("there is a home of every schema before the newest", () => {
  const older = Array.from({ length: newest - 1 }, (_, index) => index + 1);
  const missing = older.filter((schema) => !schemasOfHomes().includes(schema) && !(schema in neverAlone));
  expect(
    missing,
    "make each with test/compat/make-home.mjs and the last commit that had it as its newest",
  ).toEqual([]);
});

/** The oldest home, and those of version 0.1.0 and newer; `npm run test:long -- old-homes` opens all of them. */
describeOldHomes(schemasOfHomes().filter((schema, index) => index === 0 || schema >= 25));
