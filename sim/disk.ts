import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openKeyRing } from "../src/signing/key-ring.ts";
import type { NewToken } from "../src/store/access-store.ts";
import type { Context } from "../src/store/sqlite/context.ts";
import { Database } from "../src/store/sqlite/database/database.ts";
import { sqliteDriver } from "../src/store/sqlite/sqlite-driver.ts";
import { commitGroup } from "../src/store/sqlite/thread/group-commit.ts";
import { epochMs } from "./world.ts";

/** What outlives every process of a schedule: the database of the hub and whether there is room for more. */
export type Disk = {
  readonly home: string;
  readonly database: string;
  readonly macKey: Buffer;
  isFull: boolean;
  remove(): void;
};

/** A home with keys and an empty database, which every schedule begins with a copy of. */
export type HomeTemplate = { dir: string; macKey: Buffer; remove(): void };

export function makeTemplate(parent: string, tokens: readonly NewToken[]): HomeTemplate {
  const dir = mkdtempSync(join(parent, "writ-sim-"));
  const { macKey } = openKeyRing(join(dir, "keys"), { nowMs: epochMs });
  const database = new Database(sqliteDriver, settingsOf(join(dir, "empty.sqlite"), macKey), () => {});
  // One by one: a group ends when its time is over.
  for (const token of tokens)
    commitGroup(database, [{ id: 1, act: "createToken", input: { token, origin: null } }]);
  database.close();
  return { dir, macKey, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** All schedules share the keys and the folders, in which none of them keeps anything. */
export function freshDisk({ dir, macKey }: HomeTemplate): Disk {
  const own = mkdtempSync(join(dir, "run-"));
  const database = join(own, "writ.sqlite");
  copyFileSync(join(dir, "empty.sqlite"), database);
  return {
    home: dir,
    database,
    macKey,
    isFull: false,
    remove: () => rmSync(own, { recursive: true, force: true }),
  };
}

/** Opens the database as the hub's thread does, in this thread. */
export function openDatabase(disk: Disk): Database<Context> {
  return new Database(sqliteDriver, settingsOf(disk.database, disk.macKey), (name) => {
    if (disk.isFull && name.endsWith(".beforeCommit")) throw diskFull();
  });
}

function settingsOf(path: string, macKey: Buffer) {
  return { path, macKey, busyTimeoutMs: 0, failpointModule: null };
}

/** As SQLite reports it. */
function diskFull(): Error {
  return Object.assign(new Error("database or disk is full"), { code: "ERR_SQLITE_ERROR", errcode: 13 });
}
