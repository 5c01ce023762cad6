import { expect, test } from "vitest";
import type { LoggedEvent } from "../../core/events.ts";
import { addFailure, type Failure } from "./signature-storm.ts";

function failure(ts: number, details: Record<string, unknown>): LoggedEvent {
  const rest = { tenantId: null, jobId: null, ownerId: null, jobSeq: null, origin: null };
  return { seq: ts, ts, event: "INVALID_SIGNATURE", details, ...rest };
}

/** Feeds the failures one by one; gives the alarms with the number of the failure that raised each. */
function alarmsOf(events: LoggedEvent[]): number[] {
  let failures: Failure[] = [];
  return events.flatMap((event, index) => {
    const counted = addFailure(failures, event);
    failures = counted.failures;
    return counted.alarm === null ? [] : [index + 1];
  });
}

const many = (count: number, stepMs: number, detailsOf: (index: number) => Record<string, unknown>) =>
  Array.from({ length: count }, (_, index) => failure(index * stepMs, detailsOf(index)));

test("what two workers report raises no alarm, however much it is", () => {
  expect(alarmsOf(many(100, 10, (index) => ({ worker_id: `w${index % 2}` })))).toEqual([]);
});

test("what comes slowly raises none", () => {
  expect(alarmsOf(many(50, 7_000, () => ({ worker_id: null })))).toEqual([]);
});

test("what workers report and what the hub saw are not added up", () => {
  expect(alarmsOf(many(18, 10, (index) => ({ worker_id: index % 2 === 0 ? null : `w${index}` })))).toEqual(
    [],
  );
});

test("the tenth that the hub saw itself raises one, and the count begins anew", () => {
  expect(alarmsOf(many(19, 10, () => ({ worker_id: null })))).toEqual([10]);
  expect(alarmsOf(many(20, 10, () => ({ worker_id: "w", evidence_against: "w" })))).toEqual([10, 20]);
});

test("the tenth that three workers report raises one", () => {
  expect(alarmsOf(many(10, 10, (index) => ({ worker_id: `w${index % 3}` })))).toEqual([10]);
});
