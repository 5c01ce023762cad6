import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newestSchema } from "../../database/schema-steps.ts";
import { Connection } from "../database/connection.ts";
import { migrate } from "../database/migrate.ts";
import { planMigration } from "../database/plan-migration.ts";
import { sqliteSteps } from "../database/schema-steps.ts";
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

const open = () => openSqliteStore({ path, macKey });
const make = async () => (await open()).close();

function run(statement: string): void {
  const database = new DatabaseSync(path);
  database.exec(statement);
  database.close();
}

const newest = newestSchema(sqliteSteps());

test.each([999, newest + 1])(
  "a file with schema %i, which only a newer program knows, is refused",
  async (schema) => {
    await make();
    run(`PRAGMA user_version = ${schema}`);
    const refused = {
      code: "STORE_UNAVAILABLE",
      message: expect.stringMatching(`has schema ${schema}, .* up to \\d+; use the newer program`),
    };
    expect(() => readFileForm(path)).toThrow(expect.objectContaining(refused));
    await expect(open()).rejects.toMatchObject(refused);
  },
);

test("a file of another program is refused", async () => {
  run("CREATE TABLE customers (id INTEGER)");
  await expect(open()).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining("belongs to another program; it holds customers"),
  });
});

test.each([25, 28])("a file of rows, with schema %i, is not opened as one of frames", async (schema) => {
  run(`CREATE TABLE paused_types (type TEXT); PRAGMA user_version = ${schema}`);
  expect(readFileForm(path)).toBe("rows");
  await expect(open()).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining(`has schema ${schema}, of version 0.1; start its hub once`),
  });
  const sql = new Connection(path, 0);
  expect(() => migrate(sql, () => {})).toThrow("of version 0.1");
  expect(sql.inTransaction).toBe(false);
  sql.close();
});

test("a new file is one of frames", async () => {
  expect(readFileForm(path)).toBeNull();
  await make();
  expect(readFileForm(path)).toBe("frames");
});

test("a file of frames that was left halfway is made from the beginning", () => {
  const sql = new Connection(path, 0);
  const killed = () => {
    throw new Error("killed");
  };
  expect(() => migrate(sql, killed)).toThrow("killed");
  sql.close();
  expect(readFileForm(path)).toBeNull();
});

test("what an open would change is told", async () => {
  expect(planMigration(path)).toMatchObject({ schema: null, newest });
  await make();
  expect(planMigration(path)).toMatchObject({ schema: newest, newest, steps: [] });
});
