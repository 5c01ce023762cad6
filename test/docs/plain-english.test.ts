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

const blockOfPhrases = /<!-- begin phrases -->[\s\S]*<!-- end hidden actors -->/;

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

/** The store of rows goes as a whole, with its words; this test names the words that it looks for. */
const hiddenActorsMayStayIn = ["src/store/sqlite/**", "test/docs/plain-english.test.ts"];

const freeOfHiddenActors = [
  "{src,test,bench,sim}/**/*.{ts,tsx}",
  "launcher/**/*.c",
  "{scripts,bin}/**/*.{mjs,cjs,js}",
  "python/**/*.py",
  "{examples,templates,deploy}/**/*.{ts,mjs,py,sh,yaml,yml,conf}",
  "{README,SECURITY,CONTRIBUTING}.md",
  "docs/*.md",
  "docs/recipes/*.md",
];

const hidden = readTable(readBlock("CONTRIBUTING.md", "hidden actors")).flatMap(([instead = ""]) =>
  [...instead.matchAll(/`([^`]+)`/g)].map(([, word]) => word!),
);

test("sentences that hide who acts are found, and names and questions are not", () => {
  expect(hiddenActorsIn("/** Nobody waits. */\n// It is gone, also if\n// it ran.")).toEqual([
    "nobody",
    "also if",
  ]);
  expect(hiddenActorsIn("* The end. Who asks later gets an error.")).toEqual(["Who"]);
  expect(hiddenActorsIn('chown("nobody"); // Who may read it?\n## Who can read a file')).toEqual([]);
});

test.each(globSync(freeOfHiddenActors, { cwd: root, exclude: hiddenActorsMayStayIn }).sort())(
  "%s says who acts",
  (file) => {
    expect(hiddenActorsIn(readText(file))).toEqual([]);
  },
);

/** `nobody` in quotes or in a table of accounts is the account; headings and questions may begin with `Who`. */
function hiddenActorsIn(text: string): string[] {
  const sentences = text
    .replace(blockOfPhrases, "")
    .replaceAll(/(["'`])nobody\1|\bnobody[:-]|the user nobody|\(nobody\)|^##+ .*$/gm, "");
  const prose = onOneLine(sentences);
  return hidden.filter((word) => {
    if (word === "Who") return /(?:^|[.:;|] |\/\/ |\* |# )Who [a-z][^?.]*(?:\.|\*\/|$)/m.test(sentences);
    const capital = `${word[0]!.toUpperCase()}${word.slice(1)}`;
    return new RegExp(`\\b(?:${word}|${capital})\\b`).test(prose);
  });
}

/** The text on one line, in lower case, so that a phrase is found where a line or a comment wraps. */
function flatten(file: string): string {
  return onOneLine(readText(file).replace(blockOfPhrases, "")).toLowerCase();
}

function onOneLine(text: string): string {
  return text.replaceAll(/\n\s*(?:\*|\/\/)?\s*/g, " ").replaceAll(/\s+/g, " ");
}
