import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeDir } from "./make-dir.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-make-dir-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test.each(["/proc/x", "/proc/x/y/z", "/proc/self/x"])("%s, where none can be made, is refused", (path) => {
  expect(() => makeDir(path)).toThrow(/^E\w+: .*mkdir '\/proc\//);
});

test("a file in the way is refused", () => {
  writeFileSync(join(dir, "file"), "");
  expect(() => makeDir(join(dir, "file"))).toThrow("EEXIST");
  expect(() => makeDir(join(dir, "file", "a", "b"))).toThrow("ENOTDIR");
});

test("missing directories are made for the user alone, and making them twice is not an error", () => {
  const path = join(dir, "a", "b", "c");
  makeDir(path);
  makeDir(path);
  makeDir("/");
  for (const each of [path, join(dir, "a")]) expect(statSync(each).mode & 0o777).toBe(0o700);
});
