import { expect, test } from "vitest";
import type { LoggedEvent } from "../../core/events.ts";
import { type HeldAlerts, holdDown, takeDue } from "./hold-down.ts";
import { responseTo } from "./response-rules.ts";

const minuteMs = 60_000;

function event(seq: number): LoggedEvent {
  const rest = { ts: seq, tenantId: "acme", jobId: null, ownerId: null, jobSeq: null, origin: null };
  return { seq, event: "INVALID_SIGNATURE", details: {}, ...rest };
}

const take = (held: HeldAlerts, seq: number, nowMs: number, key = "a") =>
  holdDown(held, event(seq), { key, level: "HIGH", nowMs });

test("the first event is reported at once, and the rest together when the hold time ends", () => {
  const held: HeldAlerts = {};
  expect(take(held, 1, 0)).toMatchObject({ count: 1, firstSeq: 1 });
  expect(take(held, 2, minuteMs)).toBeNull();
  expect(take(held, 3, 2 * minuteMs)).toBeNull();
  expect(takeDue(held, 9 * minuteMs)).toEqual([]);
  expect(takeDue(held, 10 * minuteMs)).toMatchObject([
    { count: 2, firstSeq: 2, lastSeq: 3, firstTs: 2, ts: 3 },
  ]);
  expect(takeDue(held, 20 * minuteMs)).toEqual([]);
  expect(held).toEqual({});
});

test("each subject has an alert of its own, up to a bound", () => {
  const held: HeldAlerts = {};
  for (let key = 0; key < 1_200; key++) take(held, key, 0, `key ${key}`);
  expect(Object.keys(held).length).toBeLessThanOrEqual(1_001);
  expect(takeDue(held, 10 * minuteMs)).toMatchObject([{ count: 1_200 - 1_001 }]);
});

test("an alert that may not be sent is not held", () => {
  const held: HeldAlerts = {};
  const refused = { key: "a", level: "HIGH" as const, nowMs: 0, maySend: () => false };
  expect(holdDown(held, event(1), refused)).toBeNull();
  expect(held).toEqual({});
});

test("a combined alert has the details of its newest event", () => {
  const held: HeldAlerts = {};
  for (const seq of [1, 2, 3]) {
    holdDown(
      held,
      { ...event(seq), details: { reason: `drill${seq}` } },
      { key: "a", level: "HIGH", nowMs: 0 },
    );
  }
  expect(takeDue(held, 10 * minuteMs)).toMatchObject([
    { count: 2, firstSeq: 2, lastSeq: 3, firstTs: 2, ts: 3, details: { reason: "drill3" } },
  ]);
});

test.each(["LOCKDOWN", "LOCKDOWN_LIFTED", "TENANT_LOCKED"] as const)(
  "each %s is reported at once, however soon after another",
  (kind) => {
    const held: HeldAlerts = {};
    for (const seq of [1, 2, 3]) {
      const locked = { ...event(seq), event: kind, details: { reason: `drill${seq}` } };
      const alert = holdDown(held, locked, { ...responseTo(locked).alert!, nowMs: seq });
      expect(alert).toMatchObject({ event: kind, count: 1, details: { reason: `drill${seq}` } });
    }
    expect(takeDue(held, 10 * minuteMs)).toEqual([]);
  },
);
