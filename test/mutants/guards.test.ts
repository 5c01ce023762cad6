import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { equivalents } from "./equivalent.ts";
import { findCMutants } from "./find-c-mutants.ts";
import { findMutants } from "./find-mutants.ts";
import { guards } from "./guards.ts";

const root = join(import.meta.dirname, "../..");

test("every file of a guard and every test that must notice exists, and each file has mutants", () => {
  for (const { name, files, rounds } of guards) {
    for (const path of rounds.flat()) expect(existsSync(join(root, path)), `${name}: ${path}`).toBe(true);
    for (const path of files) expect(whatsOf(path).length, `${name}: ${path}`).toBeGreaterThan(0);
  }
});

test("every mutant that is explained is one that is tried", () => {
  const tried = guards.flatMap(({ files }) => files);
  for (const { path, what } of equivalents) {
    expect(tried).toContain(path);
    expect(whatsOf(path)).toContain(what);
  }
});

function whatsOf(path: string): string[] {
  const source = readFileSync(join(root, path), "utf8");
  const mutants = path.endsWith(".c") ? findCMutants(path, source) : findMutants(path, source);
  return mutants.map(({ what }) => what);
}
