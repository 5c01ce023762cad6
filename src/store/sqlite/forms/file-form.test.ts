import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
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

test.each([999, 1_001])(
  "a file with schema %i, which only a newer program knows, is refused",
  async (schema) => {
    await make("frames");
    run(`PRAGMA user_version = ${schema}`);
    const refused = {
      code: "STORE_UNAVAILABLE",
      message: expect.stringMatching(`has schema ${schema}, .* up to \\d+, and 1000; use the newer program`),
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

test("a new file gets the form that is asked for, rows by default, and keeps it", async () => {
  expect(readFileForm(path)).toBeNull();
  await make();
  expect(readFileForm(path)).toBe("rows");
  await make("frames");
  expect(readFileForm(path)).toBe("rows");
  rmSync(path);
  await make("frames");
  await make("rows");
  expect(readFileForm(path)).toBe("frames");
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

test("what an open would change is told for both forms", async () => {
  expect(planMigration(path, "frames")).toMatchObject({ schema: null, newest: 1_000 });
  await make("frames");
  expect(planMigration(path)).toMatchObject({ schema: 1_000, newest: 1_000, steps: [] });
});
