import { describe, expect, test } from "vitest";
import { aJob } from "../jobs/job.testing.ts";
import {
  allowanceOf,
  carriedUsage,
  nothingSpent,
  spendingOf,
  spentBy,
  usageWithEarlier,
} from "./agent-budget.ts";

const agent = { tool_calls: 3, denied: 1, tokens_in: 40, tokens_out: 2, cost_micro_usd: 500 };
const usageOf = (more: object): string => JSON.stringify({ cpu_ms: 7, ...more });

describe("what agents have spent", () => {
  test("a job without an agent carries nothing, and its usage stays as it is", () => {
    expect([carriedUsage({ usage: null }), carriedUsage({ usage: usageOf({}) })]).toEqual([null, null]);
    expect(usageWithEarlier({ usage: null }, usageOf({}))).toBe(usageOf({}));
    expect(usageWithEarlier({ usage: '{"earlier"' }, null)).toBeNull();
  });

  test("adds up over attempts, whatever the latest one reports", () => {
    const first = { usage: usageOf({ agent }) };
    const second = { usage: carriedUsage(first) };
    expect(spentBy(second)).toEqual({ latest: nothingSpent, all: { usd: 500, tokens: 42, tool_calls: 3 } });
    const reported = { usage: usageWithEarlier(second, usageOf({ agent: { ...agent, tool_calls: 1 } })) };
    expect(spentBy(reported).all).toEqual({ usd: 1000, tokens: 84, tool_calls: 4 });
    expect(JSON.parse(usageWithEarlier(reported, null)!)).toEqual({
      earlier: { usd: 500, tokens: 42, tool_calls: 3 },
    });
  });

  test("counts for the tenant on the day of the report, and only what is new", () => {
    const before = aJob("running", { usage: usageOf({ agent }) });
    const dayMs = 86_400_000;
    expect(spendingOf(before, { ...before, progress: "{}" }, dayMs)).toBeNull();
    expect(spendingOf(before, { ...before, usage: carriedUsage(before) }, dayMs)).toBeNull();
    const less = { ...before, usage: usageOf({ agent: { ...agent, tool_calls: 1 } }) };
    expect(spendingOf(before, less, dayMs)).toBeNull();
    const more = { ...before, usage: usageOf({ agent: { ...agent, tokens_out: 12 } }) };
    expect(spendingOf(before, more, dayMs + 5)).toMatchObject({
      tenantId: before.tenantId,
      day: "1970-01-02",
      spent: { usd: 0, tokens: 10, tool_calls: 0 },
    });
  });
});

test("an attempt may spend what others have left, beside what it has spent itself", () => {
  const spent = {
    latest: { ...nothingSpent, tokens: 30 },
    all: { ...nothingSpent, usd: 400_000, tokens: 80 },
  };
  expect(allowanceOf({ usd: 1, tokens: 100 }, spent)).toEqual({ usd: 600_000, tokens: 50 });
  expect(allowanceOf({ usd: 0.25, tool_calls: 9 }, spent)).toEqual({ usd: 0, tool_calls: 9 });
});
