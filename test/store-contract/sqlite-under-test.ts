import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openSqliteStore, type SqliteSettings } from "../../src/store/sqlite/open-store.ts";
import { openAuditReader } from "../../src/store/sqlite/reads/audit-reader.ts";
import type { Store } from "../../src/store/store.ts";
import { macKey } from "./scene.ts";
import { sqliteTamper } from "./sqlite-tamper.ts";
import type { StoreUnderTest } from "./under-test.ts";

export type SqliteUnderTest = StoreUnderTest & { path: string };

type Open = (settings: SqliteSettings) => Promise<Store>;

/** A database that is a copy of one which was migrated before: to do that for each test would take half of its time. */
export function sqliteUnderTest(
  settings: Partial<SqliteSettings> = {},
  openStore: Open = openSqliteStore,
): SqliteUnderTest {
  const under = newSqliteUnderTest(settings, openStore);
  const open = async () => {
    if (!existsSync(under.path)) copyFileSync(await template(), under.path);
    return under.open();
  };
  return { ...under, open };
}

/** A database that is made when it is opened for the first time. */
export function newSqliteUnderTest(
  settings: Partial<SqliteSettings> = {},
  openStore: Open = openSqliteStore,
): SqliteUnderTest {
  const folder = mkdtempSync(join(tmpdir(), "writ-store-"));
  const path = join(folder, "writ.db");
  return {
    path,
    open: () => openStore({ path, macKey, ...settings }),
    openAuditReader: async () => openAuditReader(path),
    tamper: sqliteTamper(path),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

let made: Promise<SqliteUnderTest> | null = null;

async function template(): Promise<string> {
  made ??= makeTemplate();
  return (await made).path;
}

/** Closing the last connection puts the whole database into the one file. */
async function makeTemplate(): Promise<SqliteUnderTest> {
  const under = newSqliteUnderTest();
  await (await under.open()).close();
  return under;
}

afterAll(async () => {
  if (made !== null) await (await made).remove();
  made = null;
});
