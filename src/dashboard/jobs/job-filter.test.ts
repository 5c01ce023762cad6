import { expect, test } from "vitest";
import { readWords, timeProblem } from "./job-filter.ts";

test("a time that is none is refused in words", () => {
  expect(timeProblem(readWords("since:abc"))).toBe(
    'since: "abc" is not a time; use 15m, 1h, 7d, today or milliseconds',
  );
  expect(timeProblem(readWords("until:yesterday"))).toContain("until");
  for (const words of ["since:1h", "since:today until:5m", "since:1700000000000", "text"])
    expect(timeProblem(readWords(words))).toBeNull();
});
