import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore, type SqliteSettings } from "../../src/store/sqlite/open-store.ts";
import type { StoreUnderTest } from "./scene.ts";

export const macKey = Buffer.alloc(32, 7);

export function sqliteUnderTest(settings: Partial<SqliteSettings> = {}): StoreUnderTest & { path: string } {
  const folder = mkdtempSync(join(tmpdir(), "writ-store-"));
  const path = join(folder, "writ.db");
  return {
    path,
    open: () => openSqliteStore({ path, macKey, ...settings }),
    execute: async (sql) => {
      const database = new DatabaseSync(path, { timeout: 5_000 });
      database.exec(sql);
      database.close();
    },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
