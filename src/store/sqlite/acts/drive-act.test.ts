import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Act, all, exists, run } from "../../acts/act.ts";
import { Columns, flag, text } from "../../acts/columns.ts";
import { Connection } from "../database/connection.ts";
import { driveAct } from "./drive-act.ts";

let dir: string;
let sql: Connection;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-acts-"));
  sql = new Connection(join(dir, "test.sqlite"), 1_000);
  sql.script("CREATE TABLE things (id TEXT PRIMARY KEY, is_open INTEGER NOT NULL) STRICT");
});
afterEach(() => {
  sql.close();
  rmSync(dir, { recursive: true });
});

const things = new Columns({ id: text("id"), isOpen: flag("is_open") });

test("an act that fails at a statement does not continue", () => {
  let isReached = false;
  function* act(): Act<void> {
    yield* run("INSERT INTO nowhere VALUES (?)", 1);
    isReached = true;
  }
  expect(() => driveAct(sql, act())).toThrow("no such table");
  expect(isReached).toBe(false);
});

test("locks are left out, lists are read as JSON, and the newest row is the one that was inserted last", () => {
  function* act(): Act<unknown> {
    for (const id of ["b", "a", "c"]) yield* run("INSERT INTO things VALUES (?, ?)", id, id !== "a");
    const locked = `SELECT ${things.list} FROM things t WHERE id = ANY (?1) ORDER BY number DESC FOR UPDATE OF t SKIP LOCKED`;
    return [
      yield* all(things, locked, ["a", "b"]),
      yield* exists("SELECT 1 FROM things WHERE id = ? FOR KEY SHARE", "d"),
    ];
  }
  expect(driveAct(sql, act())).toEqual([
    [
      { id: "a", isOpen: false },
      { id: "b", isOpen: true },
    ],
    false,
  ]);
});
