import { expect, test } from "vitest";
import { readAnsi } from "./read-ansi.ts";

const shown = (line: string) =>
  readAnsi(line).map(({ text, colour, isControl }) =>
    isControl ? `[${text}]` : colour ? `${colour}:${text}` : text,
  );

test("colours are read and end at their reset", () => {
  expect(shown("a \x1b[31mred\x1b[0m b \x1b[1;32mgreen\x1b[39m c")).toEqual([
    "a ",
    "red:red",
    " b ",
    "green:green",
    " c",
  ]);
});

test("O-34 256 and true colours become the nearest readable colour, and bold lasts until its reset", () => {
  expect(shown("\x1b[38;5;196mx\x1b[48;2;1;2;3my")).toEqual(["red:x", "red:y"]);
  expect(shown("\x1b[38;5;34ma\x1b[38;5;244mb\x1b[38;5;240mc\x1b[38;5;15md")).toEqual([
    "green:a",
    "b",
    "dim:c",
    "d",
  ]);
  expect(shown("\x1b[38;2;250;200;20mx\x1b[38:5:27my")).toEqual(["yellow:x", "blue:y"]);
  expect(shown("\x1b[38:2::250:20:20mx\x1b[38:2:20:250:20my\x1b[58;5;27mz")).toEqual([
    "red:x",
    "green:y",
    "green:z",
  ]);
  expect(readAnsi("\x1b[4:1mx")).toMatchObject([{ text: "x", colour: null, isBold: false }]);
  const bold = readAnsi("a\x1b[1mb\x1b[31mc\x1b[22md\x1b[0me").map(({ text, isBold }) =>
    isBold ? `*${text}` : text,
  );
  expect(bold).toEqual(["a", "*b", "*c", "d", "e"]);
});

test("L-01: every other escape is text in a box: titles, clipboards, cursor moves, queries", () => {
  expect(shown("\x1b]0;owned\x07x")).toEqual(["[ESC]0;owned]", "x"]);
  expect(shown("\x1b]52;c;Y2xpcA==\x1b\\x")).toEqual(["[ESC]52;c;Y2xpcA==\\]", "x"]);
  expect(shown("\x1b[2J\x1b[Hx\x1b[6n")).toEqual(["[ESC[2J]", "[ESC[H]", "x", "[ESC[6n]"]);
  expect(shown("\x1bPq#0\x1b\\")).toEqual(["[ESCPq#0\\]"]);
  expect(shown("\x9b31mx\x07\x08")).toEqual(["[U+009B]", "31mx", "[^G]", "[^H]"]);
  expect(shown("ends in \x1b")).toEqual(["ends in ", "[ESC]"]);
});

test("L-02: characters that turn the direction of text are shown and do nothing", () => {
  expect(shown("user\u202egnp.exe")).toEqual(["user", "[U+202E]", "gnp.exe"]);
  expect(shown("\u2066a\u2069")).toEqual(["[U+2066]", "a", "[U+2069]"]);
});

test("a long escape is cut, and a line without any is one piece", () => {
  expect(shown(`\x1b]8;;${"x".repeat(500)}\x07`)[0]).toHaveLength("[ESC]".length + 24 + 1);
  expect(shown("<script>alert(1)</script>\t&amp;")).toEqual(["<script>alert(1)</script>\t&amp;"]);
});
