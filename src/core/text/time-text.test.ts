import { expect, test } from "vitest";
import { timeMsMax, timeText } from "./time-text.ts";

test("A18: a moment that no date can show is shown as the last one that can be", () => {
  expect(timeText(0)).toBe("1970-01-01T00:00:00.000Z");
  expect(timeText(Number.MAX_SAFE_INTEGER)).toBe(timeText(timeMsMax));
  expect(timeText(timeMsMax)).toBe("+275760-09-13T00:00:00.000Z");
});
