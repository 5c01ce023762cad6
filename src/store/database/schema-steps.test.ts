import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { newestSchema, readSteps, stepsAfter } from "./schema-steps.ts";

const steps = [7, 8, 9].map((version) => ({ version, name: `00${version}-step`, sql: "" }));
const versionsAfter = (found: number) => stepsAfter(steps, found).map(({ version }) => version);

function folderWith(names: string[]): URL {
  const dir = mkdtempSync(join(tmpdir(), "writ-steps-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  for (const name of names) writeFileSync(join(dir, name), `-- ${name}`);
  return pathToFileURL(`${dir}/`);
}

test("a schema before the first step or after the last one is refused by its number", () => {
  expect(() => versionsAfter(6)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining("schema 6,") }),
  );
  expect(() => versionsAfter(1)).toThrow("7137a49");
  expect(() => versionsAfter(10)).toThrow(
    expect.objectContaining({ code: "STORE_UNAVAILABLE", message: expect.stringContaining("schema 10,") }),
  );
});

test("files with a gap between their numbers are refused", () => {
  expect(() => readSteps(folderWith(["007-a.sql", "009-b.sql"]))).toThrow("009-b");
});

test("an empty database takes all steps, and another one those after its own", () => {
  expect([0, 7, 8, 9].map(versionsAfter)).toEqual([[7, 8, 9], [8, 9], [9], []]);
});

test("steps are read in order, whatever else is in the folder", () => {
  const read = readSteps(folderWith(["008-b.sql", "007-a.sql", "notes.txt"]));
  expect(read).toEqual([
    { version: 7, name: "007-a", sql: "-- 007-a.sql" },
    { version: 8, name: "008-b", sql: "-- 008-b.sql" },
  ]);
  expect(newestSchema(read)).toBe(8);
});
