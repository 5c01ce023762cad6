import { expect, test } from "vitest";
import type { EventView } from "../../contract/shapes/view-shapes.ts";
import { callsOf, diffOf, isFound, reportText } from "./agent-calls.ts";

const event = (ts: number, details: Record<string, unknown>, name = "JOB_AGENT"): EventView =>
  ({ event: name, ts, details: { attempt: 2, ...details } }) as unknown as EventView;

test("calls are those of the latest attempt, each with the newest word about it", () => {
  const events = [
    event(1, { call: 1, tool: "Old", attempt: 1 }),
    event(2, { call: 1, tool: "Bash", title: "npm test", call_status: "running" }),
    event(3, { call: 2, tool: "Edit", title: "src/a", path: "src/a", call_status: "completed" }),
    event(4, { call: 1, tool: "Bash", title: "npm test", call_status: "refused" }),
    event(5, { call: "three" }),
    event(6, { call: 7, tool: "x" }, "JOB_PROGRESS"),
  ];
  expect(callsOf({ attempt: 2 }, events)).toEqual([
    { call: 1, tool: "Bash", title: "npm test", path: undefined, status: "refused", ts: 2 },
    { call: 2, tool: "Edit", title: "src/a", path: "src/a", status: "completed", ts: 3 },
  ]);
});

test("a search finds calls by their tool, words and status", () => {
  const call = { call: 1, tool: "Bash", title: "npm Test", path: undefined, status: "refused", ts: 1 };
  expect(["", "test refused", "BASH npm"].every((words) => isFound(call, words))).toBe(true);
  expect(isFound(call, "test completed")).toBe(false);
});

test("the diff of one file is that of no other with the same end", () => {
  const part = (path: string) => `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n`;
  const diff = part("lib/src/a") + part("src/a") + part("src/ab");
  expect(diffOf(diff, "src/a")).toBe(part("src/a"));
  expect(diffOf(diff, "a")).toBeUndefined();
  expect(diffOf("", "src/a")).toBeUndefined();
});

test("the line of its counts leaves out what was not reported", () => {
  const none = { tokens_in: 0, tokens_out: 0, denied: 0, reported_by: "agent" } as const;
  expect(reportText({ ...none, tool_calls: 1 })).toBe("1 call");
  expect(
    reportText({ ...none, tool_calls: 4, denied: 1, tokens_in: 5000, tokens_out: 100, cost_usd: 0.003 }),
  ).toBe("4 calls · 1 refused · 5,000 tokens in, 100 out · $0.0030");
});
