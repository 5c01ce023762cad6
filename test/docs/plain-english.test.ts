import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { readBlock, readTable, readText, root } from "./page.ts";

/** Everything that a user reads, and every comment that a contributor reads. */
const readByPeople = [
  "*.md",
  "docs/**/*.md",
  "examples/*.ts",
  "src/**/*.ts",
  "src/**/*.tsx",
  "scripts/**/*.mjs",
  "launcher/**/*.c",
];

const files = globSync(readByPeople, { cwd: root, exclude: ["**/*.test.ts", "**/*.test.tsx"] }).sort();
const phrases = readTable(readBlock("CONTRIBUTING.md", "phrases")).flatMap(([instead = ""]) =>
  [...instead.matchAll(/`([^`]+)`/g)].map(([, phrase]) => phrase!),
);

test("there are phrases to look for, and files to look at", () => {
  expect(phrases.length).toBeGreaterThan(10);
  for (const known of ["README.md", "docs/api.md", "src/cli/exit.ts"]) expect(files).toContain(known);
});

test("O-49 the odd sentences that readers found are among them and nowhere else, nor in the dashboard", () => {
  expect(files).toContain("src/dashboard/access/alerts-panel.tsx");
  for (const odd of ["such as one of", "it cannot be opened without", "enrols one", "who is told when"]) {
    expect(phrases).toContain(odd);
    expect(files.filter((file) => flatten(file).includes(odd))).toEqual([]);
  }
});

test.each(files)("%s uses none of the phrases that CONTRIBUTING.md replaces", (file) => {
  const text = flatten(file);
  expect(phrases.filter((phrase) => text.includes(phrase))).toEqual([]);
});

/** The text on one line, in lower case, so that a phrase is found where a line or a comment wraps. */
function flatten(file: string): string {
  const text = readText(file).replace(/<!-- begin phrases -->[\s\S]*<!-- end phrases -->/, "");
  return text
    .replaceAll(/\n\s*(?:\*|\/\/)?\s*/g, " ")
    .replaceAll(/\s+/g, " ")
    .toLowerCase();
}
