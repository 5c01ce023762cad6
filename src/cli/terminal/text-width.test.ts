import { expect, test } from "vitest";
import { cutText, padText, textWidth, wrapText } from "./text-width.ts";

test("C7: wide characters take two columns, and marks take none", () => {
  expect(["abc", "日本", "e\u0301", "🚀!"].map(textWidth)).toEqual([3, 4, 1, 3]);
  expect(padText("日本", 6)).toBe("日本  ");
});

test("C7: a text that is cut to its width ends with an ellipsis", () => {
  expect(["abcdef", "abc", "日本語"].map((text) => cutText(text, 4))).toEqual(["abc…", "abc", "日…"]);
});

test("C7: words are wrapped, and a long one stays whole", () => {
  expect(wrapText("one two three incomprehensible four", 9)).toEqual([
    "one two",
    "three",
    "incomprehensible",
    "four",
  ]);
});
