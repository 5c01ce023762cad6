import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fastOnFrames, longOnFrames, partlyOnFrames } from "./files.ts";

const cwd = join(import.meta.dirname, "../..");

test("every pattern of tests that run on group frames matches files, and exceptions are among them", () => {
  const patterns = [...fastOnFrames, ...longOnFrames];
  for (const pattern of patterns) expect(globSync(pattern, { cwd }), pattern).not.toEqual([]);
  expect(globSync(patterns, { cwd })).toEqual(expect.arrayContaining(Object.keys(partlyOnFrames)));
});
