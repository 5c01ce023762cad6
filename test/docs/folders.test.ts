import { globSync } from "node:fs";
import { dirname } from "node:path/posix";
import { expect, test } from "vitest";
import { isForTests, isGenerated } from "../architecture/rules.ts";
import { readText, root } from "./page.ts";

test("docs/folders.md names every folder of sources, and no other", () => {
  const sources = globSync(["src/**/*.{ts,tsx,css,sql}", "launcher/**/*.{c,mjs}"], { cwd: root });
  const written = sources.filter((path) => !isForTests(path) && !isGenerated(path));
  const folders = new Set(written.map((path) => `${dirname(path)}/`));
  const rows = [...readText("docs/folders.md").matchAll(/^\| `([^`]+)`/gm)].map(([, folder]) => folder!);
  expect(rows.toSorted()).toEqual([...folders].sort());
});
