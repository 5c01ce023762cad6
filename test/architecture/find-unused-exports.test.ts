import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findUnusedExports } from "./find-unused-exports.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(`${root}/${path}`, "utf8");

test("every export of the sources is used by another file", () => {
  const paths = globSync("{src,test,bench,examples,dashboard}/**/*.{ts,tsx}", {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**"],
  });
  const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, string> };
  const entryFiles = Object.values(exports).map((path) => path.replace("./", ""));
  const unused = findUnusedExports(
    paths.map((path) => ({ path, text: read(path) })),
    entryFiles,
  );
  expect(paths.length).toBeGreaterThan(0);
  expect(unused, unused.join("\n")).toEqual([]);
});

const unusedIn = (files: Record<string, string>) =>
  findUnusedExports(
    Object.entries(files).map(([path, text]) => ({ path, text })),
    ["src/client/index.ts"],
  );

test("an export without a reader is found, however it is written", () => {
  const text = [
    "export const a = 1;",
    "export type B = 2;",
    "export async function c() {}",
    "const d = 1;",
    "export { d as e };",
    '// import { a } from "../hub/a.ts"',
  ].join("\n");
  expect(unusedIn({ "src/hub/a.ts": text })).toEqual(
    ["a", "B", "c", "e"].map((name) => `src/hub/a.ts exports ${name}, which no other file imports`),
  );
});

test("an export that only tests use is found, unless its own file needs it", () => {
  const test = 'import { dead, alive } from "./a.ts";';
  const text = "export const dead = 1;\nexport const alive = 2;\nuse(alive);";
  expect(unusedIn({ "src/hub/a.ts": text, "src/hub/a.test.ts": test })).toEqual([
    "src/hub/a.ts exports dead, which only tests use",
  ]);
});

test.each([
  ["an import", 'import { type A, b as c } from "./a.ts";'],
  ["a re-export", 'export { A, b } from "./a.ts";'],
  ["a whole import", 'import * as all from "./a.ts";'],
  ["an import at run time", 'const { b } = await import("./a.ts");'],
])("%s is a use", (_, text) => {
  expect(
    unusedIn({ "src/client/a.ts": "export type A = 1;\nexport const b = 2;", "src/client/index.ts": text }),
  ).toEqual([]);
});
