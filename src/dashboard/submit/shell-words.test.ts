import { expect, test } from "vitest";
import { joinWords, splitWords } from "./shell-words.ts";

test("a command line is split into words as a shell does it", () => {
  expect(splitWords(`sh -c 'echo "a  b"' "it's" a\\ b ''`)).toEqual([
    "sh",
    "-c",
    'echo "a  b"',
    "it's",
    "a b",
    "",
  ]);
  expect(splitWords("  ")).toEqual([]);
  expect(splitWords("'not closed")).toBeNull();
});

test("joined words split into the same words", () => {
  const words = ["sh", "-c", 'it\'s $HOME \\ "x"', "", "a b", "plain-1.2/x"];
  expect(splitWords(joinWords(words))).toEqual(words);
});
