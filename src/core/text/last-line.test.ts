import { expect, test } from "vitest";
import { lastLineBytesMax, lastLineOf } from "./last-line.ts";

const lineOf = (text: string) => lastLineOf(new TextEncoder().encode(text));

test("O-27 nothing, or nothing that can be seen, has no last line", () => {
  for (const text of ["", "\n\n", "  \r\n\t\n", "\u001b[0m\n", "\u202e\n"]) expect(lineOf(text)).toBeNull();
});

test.each([
  ["one\ntwo\n\n", "two"],
  ["10 %\r50 %\rdisk full", "disk full"],
  ["\u001b[31mno such table\u001b[0m\n", "no such table"],
  ["\u001b]0;title\u0007ready", "ready"],
  ["a\u0000b\u202ec", "a b c"],
  ["Traceback:\n  File x\nValueError: no\n", "ValueError: no"],
  ["Error: no\n    at run (file:///a.ts:3:9)\n    at async main (/b.ts:1:1)\n", "Error: no"],
  ["at noon nothing worked", "at noon nothing worked"],
])("O-27 the last line of %j is what a person would quote", (text, line) => {
  expect(lineOf(text)).toBe(line);
});

test("O-27 a long line is cut, and a character that the cut of a stream has halved does no harm", () => {
  expect(lineOf("x".repeat(500))).toBe(`${"x".repeat(199)}…`);
  expect([...lineOf(`${"é".repeat(lastLineBytesMax)}\nend`)!].join("")).toBe("end");
  expect(lineOf("😀".repeat(300))).toBe(`${"😀".repeat(199)}…`);
});
