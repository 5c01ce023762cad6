import { expect, test } from "vitest";
import { parseBudget } from "./budget-option.ts";

test("a budget names some of dollars, tokens and calls, each once", () => {
  for (const text of [
    "",
    "usd",
    "usd=",
    "usd=-1",
    "usd=1e3",
    "tokens=1.5",
    "euro=3",
    "usd=1,usd=2",
    "usd=1=2",
  ])
    expect(parseBudget(text), text).toBeUndefined();
  expect(parseBudget("usd=2.5,tokens=1000,tool-calls=7")).toEqual({ usd: 2.5, tokens: 1000, tool_calls: 7 });
  expect(parseBudget("tool_calls=0")).toEqual({ tool_calls: 0 });
});
