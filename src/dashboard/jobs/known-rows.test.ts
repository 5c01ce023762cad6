import { beforeEach, expect, test } from "vitest";
import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import type { FeedEvent } from "../hub/event-stream.ts";
import { KnownRows } from "./known-rows.ts";

let known: KnownRows;
beforeEach(() => {
  known = new KnownRows();
});

function row(id: string, status: JobSummary["status"], more: Partial<JobSummary> = {}): JobSummary {
  return { id, status, attempt: status === "pending" ? 0 : 1, attempts: 1, ...more } as JobSummary;
}

function eventOf(seq: number, id: string, status: JobSummary["status"]): Map<string, FeedEvent> {
  const attempt = status === "pending" ? 0 : 1;
  return new Map([[id, { id, seq, status, attempt, type: "t", worker_id: "w", priority: 5, ts: seq }]]);
}

const states = () => known.rows.map(({ id, status }) => `${id} ${status}`);

async function show(rows: JobSummary[], lastSeq: number): Promise<void> {
  const { arrived } = await known.read(async () => ({ rows, lastSeq }));
  known.replace(arrived);
}

test("an event that a list already includes changes nothing", async () => {
  await show([row("a", "completed")], 10);
  expect(known.take(eventOf(9, "a", "running"))).toEqual(new Set());
  expect(states()).toEqual(["a completed"]);
});

test("an event that arrives while a list is read is applied to that list", async () => {
  await show([row("a", "pending")], 1);
  const answer = Promise.withResolvers<{ rows: JobSummary[]; lastSeq: number }>();
  const reading = known.read(() => answer.promise);
  known.take(eventOf(5, "a", "running"));
  known.take(eventOf(6, "b", "assigned"));
  answer.resolve({ rows: [row("b", "pending"), row("a", "pending")], lastSeq: 4 });
  known.replace((await reading).arrived);
  expect(states()).toEqual(["b assigned", "a running"]);
  expect(known.take(eventOf(6, "b", "assigned"))).toEqual(new Set());
});

test("an older list that arrives after a newer one changes nothing", async () => {
  const answer = Promise.withResolvers<{ rows: JobSummary[]; lastSeq: number }>();
  const slow = known.read(() => answer.promise);
  await show([row("a", "completed")], 9);
  answer.resolve({ rows: [row("a", "pending")], lastSeq: 3 });
  known.update((await slow).arrived);
  expect(states()).toEqual(["a completed"]);
});

test("a list that is ahead of the events is shown, and the late events change nothing", async () => {
  await show([row("a", "pending")], 1);
  await show([row("a", "completed", { result: 42 })], 4);
  expect(states()).toEqual(["a completed"]);
  for (const [seq, status] of [
    [2, "assigned"],
    [3, "running"],
    [4, "completed"],
  ] as const)
    expect(known.take(eventOf(seq, "a", status))).toEqual(new Set());
  expect(known.rows[0]).toMatchObject({ status: "completed", result: 42 });
});

test("the row of an ended job is incomplete until it is read again and has its result", async () => {
  await show([row("a", "running"), row("b", "running")], 1);
  known.take(eventOf(2, "a", "completed"));
  expect([known.isIncomplete("a"), known.isIncomplete("b")]).toEqual([true, false]);
  const read = { rows: [row("a", "completed", { result: 42 })], lastSeq: 2 };
  const { arrived } = await known.read(async () => read);
  known.update(arrived);
  expect(known.rows[0]).toMatchObject({ result: 42 });
  expect(known.isIncomplete("a")).toBe(false);
});

test("the row of a deleted job is requested once", async () => {
  await show([row("a", "running")], 1);
  known.take(eventOf(2, "a", "completed"));
  known.dropDeleted(["a"], []);
  expect(known.isIncomplete("a")).toBe(false);
});

test("an unchanged row stays the same object, and a changed row is a new one", async () => {
  await show([row("a", "running"), row("b", "running")], 1);
  const [a, b] = known.rows;
  known.take(eventOf(2, "b", "completed"));
  await show([row("c", "pending"), row("a", "running"), row("b", "completed")], 3);
  expect(known.rows[1]).toBe(a);
  expect(known.rows[2]).not.toBe(b);
});

test("rows are added once, at either end", async () => {
  await show([row("b", "pending")], 1);
  const more = await known.read(async () => ({
    rows: [row("b", "pending"), row("a", "pending")],
    lastSeq: 1,
  }));
  expect(known.add(more.arrived, "end")).toBe(1);
  const newer = await known.read(async () => ({
    rows: [row("c", "pending"), row("b", "running")],
    lastSeq: 2,
  }));
  expect(known.add(newer.arrived, "start")).toBe(1);
  expect(known.rows.map(({ id }) => id)).toEqual(["c", "b", "a"]);
});

test("when events were missed, every row is read again", async () => {
  await show([row("a", "running")], 1);
  known.invalidateAll();
  expect(known.isIncomplete("a")).toBe(true);
  await show([row("a", "completed")], 5);
  expect(states()).toEqual(["a completed"]);
});
