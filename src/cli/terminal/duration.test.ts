import { expect, test } from "vitest";
import { formatAge, formatDuration, parseDuration, parseMoment } from "./duration.ts";

test.each(["", "m", "10x", "-5s", "1h 30m", "1e3", "10m!"])("%j is not a length of time", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test.each([
  ["0", 0],
  ["90", 90_000],
  ["250ms", 250],
  ["1.5s", 1500],
  ["10m", 600_000],
  ["1h30m", 5_400_000],
  ["2d", 172_800_000],
])("%s is %i ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  [0, "0ms"],
  [999, "999ms"],
  [1000, "1.0s"],
  [9999, "9.9s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [185_000, "3m 5s"],
  [7_800_000, "2h 10m"],
  [356_400_000, "4d 3h"],
])("%i ms is shown as %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [-5, "1s"],
  [5400, "5s"],
  [185_000, "3m"],
  [7_800_000, "2h"],
])("%i ms ago is shown as %s", (ms, text) => {
  expect(formatAge(1_000_000_000 - ms, 1_000_000_000)).toBe(text);
});

test.each(["", "soon", "+", "+soon", "2030", "2030-99-99"])("%j is not a moment", (text) => {
  expect(parseMoment(text, 0)).toBeUndefined();
});

test("a moment is a date, a distance from now, or milliseconds", () => {
  expect(parseMoment("2030-01-31T08:00:00Z", 0)).toBe(1_896_076_800_000);
  expect(parseMoment("+10m", 1000)).toBe(601_000);
  expect(parseMoment("1896076800000", 0)).toBe(1_896_076_800_000);
});
