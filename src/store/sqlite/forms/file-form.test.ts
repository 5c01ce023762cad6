import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newestSchema } from "../../database/schema-steps.ts";
import { framedSteps } from "../../framed/framed-steps.ts";
import { migrate as migrateFramed } from "../../framed/schema.ts";
import { Connection } from "../database/connection.ts";
import { planMigration } from "../database/plan-migration.ts";
import { openSqliteStore } from "../open-store.ts";
import { readFileForm } from "./file-form.ts";

const macKey = Buffer.alloc(32, 7);
let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "writ-form-"));
  path = join(folder, "writ.sqlite");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (newForm?: "rows" | "frames") => openSqliteStore({ path, macKey, newForm });
const make = async (newForm?: "rows" | "frames") => (await open(newForm)).close();

function run(statement: string): void {
  const database = new DatabaseSync(path);
  database.exec(statement);
  database.close();
}

const newest = newestSchema(framedSteps());

test.each([999, newest + 1])(
  "a file with schema %i, which only a newer program knows, is refused",
  async (schema) => {
    await make("frames");
    run(`PRAGMA user_version = ${schema}`);
    const refused = {
      code: "STORE_UNAVAILABLE",
      message: expect.stringMatching(`has schema ${schema}, .* up to \\d+; use the newer program`),
    };
    expect(() => readFileForm(path)).toThrow(expect.objectContaining(refused));
    await expect(open()).rejects.toMatchObject(refused);
  },
);

test("a file of another program is refused, whichever form is asked for", async () => {
  run("CREATE TABLE customers (id INTEGER)");
  for (const form of ["rows", "frames"] as const)
    await expect(open(form)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("belongs to another program; it holds customers"),
    });
});

test("a file that has become one of rows is not made one of frames", async () => {
  await make("rows");
  const sql = new Connection(path, 0);
  expect(() => migrateFramed(sql, () => {})).toThrow("keeps jobs in rows, and was to be opened as");
  expect(sql.inTransaction).toBe(false);
  sql.close();
});

test("a new file gets the form that is asked for, frames by default, and keeps it", async () => {
  expect(readFileForm(path)).toBeNull();
  await make();
  expect(readFileForm(path)).toBe("frames");
  await make("rows");
  expect(readFileForm(path)).toBe("frames");
  rmSync(path);
  await make("rows");
  await make("frames");
  expect(readFileForm(path)).toBe("rows");
});

test("a file of frames that was left halfway is made from the beginning", () => {
  const sql = new Connection(path, 0);
  const killed = () => {
    throw new Error("killed");
  };
  expect(() => migrateFramed(sql, killed)).toThrow("killed");
  sql.close();
  expect(readFileForm(path)).toBeNull();
});

test("what an open would change is told", async () => {
  expect(planMigration(path)).toMatchObject({ schema: null, newest });
  await make("frames");
  expect(planMigration(path)).toMatchObject({ schema: newest, newest, steps: [] });
});
