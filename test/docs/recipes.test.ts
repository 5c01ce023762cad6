import { globSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { readTable, readText, root } from "./page.ts";

const rows = readTable(readText("docs/recipes/README.md"));

test("the index of the recipes has every page once", () => {
  const pages = globSync("docs/recipes/*.md", { cwd: root }).map((path) => basename(path));
  const listed = rows.map(([, page]) => /\]\(([^)]+)\)/.exec(page!)![1]!);
  expect(listed.toSorted()).toEqual(pages.filter((page) => page !== "README.md").sort());
});

test("it names every test that follows a recipe, beside the page that the test reads", () => {
  const followed = rows.flatMap(([, page, by]) => (by === "" ? [] : [{ page: page!, by: by!.slice(1, -1) }]));
  expect(followed.map(({ by }) => by).sort()).toEqual(
    globSync("test/recipes/*.test.ts", { cwd: root }).sort(),
  );
  for (const { page, by } of followed) {
    const [, name] = /readRecipe\("([^"]+)"\)/.exec(readText(by))!;
    expect(page).toBe(`[${name}.md](${name}.md)`);
  }
});
