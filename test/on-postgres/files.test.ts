import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noPostgres } from "../support/postgres-cluster.ts";
import { fastOnPostgres, foldersOnBoth, heavyOnPostgres, notOnPostgres, onPostgres } from "./files.ts";

const cwd = join(import.meta.dirname, "../..");

test("every test of a hub runs on PostgreSQL too, or has a reason not to", () => {
  const files = globSync(
    foldersOnBoth.map((folder) => `${folder}/**/*.test.ts`),
    { cwd },
  )
    .filter((file) => !readFileSync(join(cwd, file), "utf8").includes("PostgresCluster.start"))
    .sort();
  expect(files.length).toBeGreaterThan(50);
  const patterns = [...fastOnPostgres, ...onPostgres, ...heavyOnPostgres];
  expect([...globSync(patterns, { cwd }), ...Object.keys(notOnPostgres)].sort()).toEqual(files);
  for (const pattern of patterns) expect(globSync(pattern, { cwd }), pattern).not.toEqual([]);
});

// The projects that run them are left out of vitest.config.ts then, which no failure would show.
if (noPostgres !== undefined) test.skip(`the tests of hubs run on PostgreSQL: ${noPostgres}`, () => {});
