import { expect, test } from "vitest";
import type { LoggedEvent } from "../../core/events.ts";
import { addFailure, type Failure } from "./signature-storm.ts";

function failure(ts: number, details: Record<string, unknown>): LoggedEvent {
  const rest = { tenantId: null, jobId: `job-${ts}`, ownerId: null, jobSeq: null, origin: null };
  return { seq: ts, ts, event: "INVALID_SIGNATURE", details, ...rest };
}

/** Feeds the failures one by one; gives the alarms with the number of the failure that raised each. */
function alarmsOf(events: LoggedEvent[]): number[] {
  return lockedBy(events).map(([number]) => number);
}

/**
 * The same with what is locked. A worker `acme-1` belongs to tenant acme, `gone` is not known, and others belong to the
 * hub.
 */
function lockedBy(events: LoggedEvent[]): [number, string | null][] {
  let failures: Failure[] = [];
  return events.flatMap((event, index) => {
    const counted = addFailure(failures, event, ownerOf(String(event.details["worker_id"])));
    failures = counted.failures;
    return counted.alarm === null ? [] : [[index + 1, counted.alarm.tenantId]];
  });
}

function ownerOf(workerId: string): { tenantId: string | null } | null {
  if (workerId === "gone") return null;
  return { tenantId: /^(\w+)-/.exec(workerId)?.[1] ?? null };
}

const many = (count: number, stepMs: number, detailsOf: (index: number) => Record<string, unknown>) =>
  Array.from({ length: count }, (_, index) => failure(index * stepMs, detailsOf(index)));

test("reports of two workers raise no alarm, however many there are", () => {
  expect(alarmsOf(many(100, 10, (index) => ({ worker_id: `w${index % 2}` })))).toEqual([]);
});

test("failures that arrive slowly raise no alarm", () => {
  expect(alarmsOf(many(50, 7_000, () => ({ worker_id: null })))).toEqual([]);
});

test("reports of workers and failures that the hub found are counted apart", () => {
  expect(alarmsOf(many(18, 10, (index) => ({ worker_id: index % 2 === 0 ? null : `w${index}` })))).toEqual(
    [],
  );
});

test("the tenth failure that the hub found raises an alarm, and the count starts again", () => {
  expect(alarmsOf(many(19, 10, () => ({ worker_id: null })))).toEqual([10]);
});

test("A4: a bad receipt counts only against its worker", () => {
  const receipts = many(40, 10, (index) => ({ worker_id: `w${index}`, evidence_against: `w${index}` }));
  expect(alarmsOf(receipts)).toEqual([]);
});

test("A4: one damaged document that is read repeatedly raises no alarm", () => {
  const reads = many(40, 10, () => ({ worker_id: null })).map((event) => ({ ...event, jobId: "one" }));
  expect(alarmsOf(reads)).toEqual([]);
});

test("A4: reports of a tenant's own workers lock that tenant and are counted apart from others", () => {
  expect(lockedBy(many(10, 10, (index) => ({ worker_id: `acme-${index % 3}` })))).toEqual([[10, "acme"]]);
  const mixed = ["acme-1", "globex-1", "w1"];
  expect(lockedBy(many(27, 10, (index) => ({ worker_id: mixed[index % 3] })))).toEqual([]);
  expect(lockedBy(many(40, 10, () => ({ worker_id: "gone" })))).toEqual([]);
});

test("A4: a tenant's flood does not displace the reports of shared workers", () => {
  const shared = many(9, 10, (index) => ({ worker_id: `w${index % 3}` }));
  const flood = many(500, 1, () => ({ worker_id: "acme-1" }));
  expect(lockedBy([...shared, ...flood, failure(600, { worker_id: "w1" })])).toEqual([[510, null]]);
});

test("the tenth report of three workers raises an alarm", () => {
  expect(alarmsOf(many(10, 10, (index) => ({ worker_id: `w${index % 3}` })))).toEqual([10]);
});
