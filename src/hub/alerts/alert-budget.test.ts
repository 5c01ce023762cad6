import { expect, test } from "vitest";
import { type AlertBudgets, maySend, takeSummaries } from "./alert-budget.ts";
import type { Alert } from "./hold-down.ts";

const minuteMs = 60_000;

function alert(seq: number, parts: Partial<Alert> = {}): Alert {
  const who = {
    tenantId: "acme",
    jobId: `job ${seq}`,
    userId: "alice",
    callerId: "alice",
    ipAddress: "::1",
    call: null,
  };
  const where = { firstSeq: seq, lastSeq: seq, firstTs: seq, ts: seq };
  return { level: "HIGH", event: "INVALID_SIGNATURE", count: 1, ...where, ...who, details: {}, ...parts };
}

test("O-17 a tenant has ten alerts a minute, and then one summary with the count", () => {
  const budgets: AlertBudgets = {};
  const sent = Array.from({ length: 14 }, (_, index) => maySend(budgets, alert(index + 1), index));
  expect(sent).toEqual([...Array(10).fill(true), false, false, false, false]);
  maySend(budgets, alert(15, { event: "SECURITY_VIOLATION", count: 3 }), 20);
  expect(takeSummaries(budgets, minuteMs - 1)).toEqual([]);
  expect(takeSummaries(budgets, minuteMs)).toEqual([
    {
      ...{ count: 7, firstSeq: 11, lastSeq: 15, firstTs: 11, ts: 15, tenantId: "acme" },
      events: { INVALID_SIGNATURE: 4, SECURITY_VIOLATION: 3 },
    },
  ]);
  expect(budgets).toEqual({});
  expect(maySend(budgets, alert(16), minuteMs)).toBe(true);
});

test("a summary ranges from its first to its last event, in any order of arrival", () => {
  const budgets: AlertBudgets = {};
  for (let seq = 101; seq <= 111; seq++) maySend(budgets, alert(seq), 0);
  const held = { count: 4, firstSeq: 20, lastSeq: 60, firstTs: 20, ts: 60 };
  expect(maySend(budgets, alert(60, held), 0)).toBe(false);
  expect(takeSummaries(budgets, minuteMs)).toMatchObject([
    { count: 5, firstSeq: 20, lastSeq: 111, firstTs: 20, ts: 111, events: { INVALID_SIGNATURE: 5 } },
  ]);
});

test("O-17 a tenant does not use up the budget of another, whatever its name", () => {
  const budgets: AlertBudgets = {};
  for (let seq = 1; seq < 20; seq++) maySend(budgets, alert(seq, { tenantId: "__proto__" }), 0);
  expect(maySend(budgets, alert(20), 0)).toBe(true);
  expect(maySend(budgets, alert(21, { tenantId: null }), 0)).toBe(true);
});

test("tenants beyond a thousand share one budget", () => {
  const budgets: AlertBudgets = {};
  const sent = Array.from({ length: 1_020 }, (_, seq) =>
    maySend(budgets, alert(seq, { tenantId: `t${seq}` }), 0),
  );
  expect(sent.filter((isSent) => !isSent)).toHaveLength(10);
  expect(takeSummaries(budgets, minuteMs)).toMatchObject([{ count: 10, tenantId: null }]);
});
