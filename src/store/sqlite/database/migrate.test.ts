import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newestSchema } from "../../database/schema-steps.ts";
import { Connection } from "./connection.ts";
import { migrate, schemaVersion } from "./migrate.ts";
import { sqliteSteps } from "./schema-steps.ts";

// A file of an earlier schema is upgraded as a whole or not at all. Why: ADR 0116.

const steps = sqliteSteps();
const newest = newestSchema(steps);
const step = (after: number, sql: string) => ({
  version: newest + after,
  name: `${newest + after}-step`,
  sql,
});
const later = [
  ...steps,
  step(1, "CREATE TABLE labels (job_seq INTEGER PRIMARY KEY) STRICT"),
  step(2, "ALTER TABLE jobs ADD COLUMN shelf INTEGER; INSERT INTO labels VALUES (7)"),
];

let folder: string;
let sql: Connection;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "writ-schema-"));
  sql = new Connection(join(folder, "writ.sqlite"), 0);
  migrate(sql, () => {});
});
afterEach(() => {
  sql.close();
  rmSync(folder, { recursive: true, force: true });
});

const tables = () => sql.all<{ name: string }>("SELECT name FROM sqlite_schema").map(({ name }) => name);

test("takes the steps that it lacks, in their order, and no step twice", () => {
  expect(migrate(sql, () => {}, later)).toBe(newest + 2);
  expect(migrate(sql, () => {}, later)).toBe(newest + 2);
  expect(schemaVersion(sql)).toBe(newest + 2);
  expect(sql.all("SELECT * FROM labels")).toEqual([{ job_seq: 7 }]);
  expect(sql.all("SELECT shelf FROM jobs")).toEqual([]);
});

test("is as it was when the program ends before the commit, and complete after the next start", () => {
  const killed = () => {
    throw new Error("killed");
  };
  expect(() => migrate(sql, killed, later)).toThrow("killed");
  expect([schemaVersion(sql), tables().includes("labels")]).toEqual([newest, false]);
  migrate(sql, () => {}, later);
  expect([schemaVersion(sql), tables().includes("labels")]).toEqual([newest + 2, true]);
});

test("is as it was when one of its steps fails", () => {
  const broken = [...later, step(3, "INSERT INTO no_such_table VALUES (1)")];
  expect(() => migrate(sql, () => {}, broken)).toThrow("no_such_table");
  expect([schemaVersion(sql), tables().includes("labels")]).toEqual([newest, false]);
});

test("is refused in one line if a newer program made it", () => {
  migrate(sql, () => {}, later);
  const message = new RegExp(`^the database has schema ${newest + 2}, .* use the newer program$`);
  expect(() => migrate(sql, () => {})).toThrow(message);
  expect(schemaVersion(sql)).toBe(newest + 2);
});
