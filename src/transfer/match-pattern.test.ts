import { expect, test } from "vitest";
import { matchPattern } from "./match-pattern.ts";

test.each([
  ["a.txt", "*.txt", true],
  ["a.txt", "a.txt", true],
  ["dir/a.txt", "*.txt", false],
  ["dir/a.txt", "**/*.txt", true],
  ["a.txt", "**/*.txt", true],
  ["a/b/c", "**", true],
  [".hidden", "**", true],
  ["a/b/c", "a/**", true],
  ["a", "a/**", true],
  ["ab/c", "a/**", false],
  ["a/b/c/d", "a/**/d", true],
  ["a/d", "a/**/d", true],
  ["a/b/c", "a/*", false],
  ["abc", "a?c", true],
  ["ac", "a?c", false],
  ["a[1].txt", "a[1].txt", true],
  ["x/a/y/a/b", "**/a/b", true],
  ["a/b", "./a//b", true],
  ["ü1", "?1", true],
])("%s and %s: %s", (path, pattern, isMatch) => {
  expect(matchPattern(path, pattern)).toBe(isMatch);
});

test("a pattern that would take a regular expression for ever is answered at once", () => {
  const pattern = `${"*a".repeat(250)}b`;
  expect(matchPattern("a".repeat(4000), pattern)).toBe(false);
  expect(matchPattern("a/".repeat(250), `${"**/a/".repeat(80)}b`)).toBe(false);
});
