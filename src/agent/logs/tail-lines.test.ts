import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LineBuffer } from "./line-buffer.ts";
import { LogFollower } from "./log-follower.ts";
import { lastLines, tailOffset } from "./tail-lines.ts";

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-tail-"));
  file = join(dir, "a.log");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("the last lines are looked for in the rotated files too, and by their text", async () => {
  writeFileSync(`${file}.2`, "1 job=a\n2 job=b\n");
  writeFileSync(`${file}.1`, "3 job=a\n4 job=b\n");
  writeFileSync(file, "5 job=a\n6 job=b\n");
  const options = { tail: 3, filesMax: 5 };
  expect(await lastLines(file, options)).toEqual(["4 job=b", "5 job=a", "6 job=b"]);
  expect(await lastLines(file, { ...options, grep: "job=a" })).toEqual(["1 job=a", "3 job=a", "5 job=a"]);
  expect(await lastLines(join(dir, "none.log"), options)).toEqual([]);
});

test.each([
  ["a\nb\nc\n", 2, "b\nc\n"],
  ["a\nb\nc", 2, "b\nc"],
  ["a\nb\nc", 9, "a\nb\nc"],
  ["a\nb\n", 0, ""],
  ["", 3, ""],
  [`first\n${"x".repeat(70_000)}\nlast\n`, 2, `${"x".repeat(70_000)}\nlast\n`],
])("the tail of %j", async (text, tail, shown) => {
  writeFileSync(file, text);
  const offset = await tailOffset(file, tail);
  expect(readFileSync(file, "utf8").slice(offset)).toBe(shown);
});

test("lines are passed on whole, and one without an end in pieces", () => {
  const passed: string[] = [];
  const lines = new LineBuffer((whole) => passed.push(whole.toString()));
  for (const piece of ["a", "b\nc\nd", "e\n", "x".repeat(70_000), "f"]) lines.push(Buffer.from(piece));
  lines.end();
  expect(passed).toEqual(["ab\nc\n", "de\n", `${"x".repeat(70_000)}\n`, "f\n"]);
});

test("a follower shows each line once across a rotation", () => {
  let shown = "";
  writeFileSync(file, "old\n");
  const show = (lines: Buffer) => {
    shown += lines;
  };
  const follower = new LogFollower(file, { fromStart: false, show });
  writeFileSync(file, "one\n", { flag: "a" });
  follower.read();
  writeFileSync(file, "two\n", { flag: "a" });
  writeFileSync(`${file}.1`, readFileSync(file));
  rmSync(file);
  writeFileSync(file, "three\n");
  follower.read();
  follower.read();
  expect(shown).toBe("one\ntwo\nthree\n");
});
