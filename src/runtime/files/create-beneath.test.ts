import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createBeneath } from "./create-beneath.ts";
import { openBase } from "./open-beneath.ts";
import { PathRefused } from "./path-refused.ts";

let dir: string;
let base: FileHandle;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-create-"));
  mkdirSync(join(dir, "base"));
  mkdirSync(join(dir, "outside"));
  base = await openBase(join(dir, "base"));
});

afterEach(async () => {
  await base.close();
  rmSync(dir, { recursive: true, force: true });
});

async function write(path: string, text: string): Promise<string> {
  try {
    const file = await createBeneath(base, path);
    await file.handle.writeFile(text);
    await file.keep();
    await file.discard();
    return "written";
  } catch (error) {
    if (error instanceof PathRefused) return error.refusal;
    throw error;
  }
}

test("a file is written with the directories above it, and replaces one that was there", async () => {
  expect(await write("a/b/c.txt", "one")).toBe("written");
  expect(await write("a/b/c.txt", "two")).toBe("written");
  expect(await write("d.txt", "three")).toBe("written");
  expect(readFileSync(join(dir, "base/a/b/c.txt"), "utf8")).toBe("two");
  expect(readdirSync(join(dir, "base")).sort()).toEqual(["a", "d.txt"]);
});

test.each(["../x", "/tmp/x", "a/../../x", "..", ".", "", "a/"])("%j is refused", async (path) => {
  expect(await write(path, "x")).toMatch(/^(outside|invalid)$/);
  expect(readdirSync(join(dir, "outside"))).toEqual([]);
});

test("nothing is written through a link, and a link is replaced and not followed", async () => {
  symlinkSync("../outside", join(dir, "base/link"));
  expect(await write("link/x", "x")).toBe("link");
  writeFileSync(join(dir, "outside/file"), "old");
  symlinkSync("../outside/file", join(dir, "base/file"));
  expect(await write("file", "new")).toBe("written");
  expect(readFileSync(join(dir, "outside/file"), "utf8")).toBe("old");
  expect(readdirSync(join(dir, "outside"))).toEqual(["file"]);
});

test("nothing is left of a discarded file, and no descriptor stays open", async () => {
  const openNow = () => readdirSync("/proc/self/fd").length;
  const before = openNow();
  const file = await createBeneath(base, "a/x");
  await file.handle.writeFile("half");
  await file.discard();
  expect(readdirSync(join(dir, "base/a"))).toEqual([]);
  expect(openNow()).toBe(before);
});
