import { describe, expect, test } from "vitest";
import { isForTests } from "../architecture/rules.ts";
import {
  covers,
  type Decision,
  isThere,
  namedAnywhere,
  namedInHead,
  readDecisions,
  sourcesOfOurs,
} from "./decisions.ts";
import { advice, readTable, readText, tableLines } from "./page.ts";

const index = "docs/adr/README.md";
const decisions = readDecisions();
const byNumber = new Map(decisions.map((decision) => [decision.number, decision]));
const sources = sourcesOfOurs();
const named = new Map(sources.map((path) => [path, namedAnywhere(path)]));
const inHead = new Map(sources.map((path) => [path, namedInHead(path)]));

test("there are decisions to look at, and sources that name them", () => {
  expect(byNumber.get("0087")?.files).toContain("src/store/postgres/");
  expect(inHead.get("src/store/postgres/claims/claim-floors.ts")).toEqual(["0087"]);
});

describe.each(decisions)("$number $title", (decision) => {
  test("has the number of its file, and is named by the decision that replaces it", () => {
    expect(decision.file.slice(0, 4)).toBe(decision.number);
    if (decision.replacedBy !== null)
      expect(byNumber.get(decision.replacedBy)?.links).toContain(decision.number);
  });

  test("lists files, unless it was replaced, that exist and name it in a comment at the start of a line", () => {
    const isInForce = decision.replacedBy === null || decision.isReplacedInPart;
    expect(decision.files.length > 0 || !isInForce, `${decision.file} ends without "**Files.** ..."`).toBe(
      true,
    );
    expect(decision.files.filter((listed) => !isThere(listed))).toEqual([]);
    const silent = decision.files.filter((listed) => !sources.some((path) => names(path, decision, listed)));
    expect(silent, `these should say: Why: ADR ${decision.number}.`).toEqual([]);
  });
});

function names(path: string, { number }: Decision, listed: string): boolean {
  return covers(listed, path) && inHead.get(path)!.includes(number);
}

test("a source names only decisions that exist and list it, or its folder, under Files", () => {
  const wrong = [...named].flatMap(([path, numbers]) =>
    numbers
      .filter((number) => !byNumber.get(number)?.files.some((listed) => covers(listed, path)))
      .map((number) => `${path}: ADR ${number}`),
  );
  expect(wrong).toEqual([]);
});

test("every file of both store drivers names the decision that explains it", () => {
  const driver = /^src\/store\/(?:sqlite|postgres)\/.*\.ts$/;
  const silent = sources.filter(
    (path) => driver.test(path) && !isForTests(path) && inHead.get(path)!.length === 0,
  );
  expect(silent).toEqual([]);
});

test("the index has every decision once, in groups that are in order", () => {
  const groups = readText(index)
    .split(/^## /m)
    .slice(1)
    .map((group) => readTable(group));
  for (const rows of groups)
    expect(rows).toEqual(rows.toSorted(([one], [other]) => (one! < other! ? -1 : 1)));
  const rows = groups.flat().toSorted(([one], [other]) => (one! < other! ? -1 : 1));
  const expected = decisions.map(indexRow);
  expect(rows, advice(index, tableLines(["number", "decision", "accepted"], expected))).toEqual(expected);
});

function indexRow({ file, number, title, acceptedOn, replacedBy, isReplacedInPart }: Decision): string[] {
  const replaced =
    replacedBy === null ? "" : `, ${isReplacedInPart ? "in part " : ""}replaced by ${replacedBy}`;
  return [`[${number}](${file})`, title, `${acceptedOn}${replaced}`];
}

test("the index explains every number that has no note", () => {
  const last = Number(decisions.at(-1)!.number);
  const all = Array.from({ length: last }, (_, at) => String(at + 1).padStart(4, "0"));
  const [, explained = ""] = /^\*\*Numbers without a note\.\*\* ([\s\S]+?)\n\n/m.exec(readText(index)) ?? [];
  expect(explained.match(/\b\d{4}\b/g)).toEqual(all.filter((number) => !byNumber.has(number)));
});
