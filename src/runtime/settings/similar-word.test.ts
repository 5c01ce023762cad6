import { expect, test } from "vitest";
import { similarWord } from "./similar-word.ts";

const words = ["port", "lease_ms", "commands", "users", "quotas"];

test.each(["x", "sort_by_name", "prt_zzz", "", "usually", "u".repeat(100_000)])(
  "%.20s is like none of them",
  (given) => {
    expect(similarWord(given, words)).toBeUndefined();
  },
);

test.each([
  ["lese_ms", "lease_ms"],
  ["LEASE_MS", "lease_ms"],
  ["prot", "port"],
  ["command", "commands"],
  ["quota", "quotas"],
])("%s is meant as %s", (given, meant) => {
  expect(similarWord(given, words)).toBe(meant);
});
