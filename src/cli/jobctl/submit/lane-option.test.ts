import { expect, test } from "vitest";
import { parseLane } from "./lane-option.ts";

test.each([
  "",
  ",max=5",
  "stripe,max",
  "stripe,max=x",
  "stripe,max=1,max=2",
  "stripe,rate=5",
  "stripe,rate=5/x",
  "stripe,burst=5",
  "stripe,least=5",
])("%j is no lane", (text) => {
  expect(parseLane(text)).toBeUndefined();
});

test("a lane has a name, a limit, a rate and a burst", () => {
  expect(parseLane("stripe")).toEqual({ name: "stripe" });
  expect(parseLane("stripe,max=5,rate=100/1m,burst=10")).toEqual({
    name: "stripe",
    max_running: 5,
    rate: { limit: 100, period_sec: 60, burst: 10 },
  });
});
