import { describe, expect, it } from "vitest";
import { parseCron } from "./cron.ts";
import { type Timing, utc } from "./occurrences.ts";
import { jitterMs, nextDue, planFiring, waitingMax } from "./plan-firing.ts";
import type { Schedule, ScheduleSpec, Waiting } from "./schedule.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const dayMs = 86_400_000;

type Parts = Partial<Omit<Schedule, "spec">> & { spec?: Partial<ScheduleSpec> };

function scheduleOf({ spec, ...parts }: Parts = {}): Schedule {
  return {
    id: "one",
    spec: {
      job: "{}",
      cron: "* * * * * *",
      every_sec: null,
      time_zone: "UTC",
      start_at: null,
      end_at: null,
      max_runs: null,
      jitter_sec: 0,
      catch_up: "latest",
      catch_up_sec: 86_400,
      overlap: "skip",
      ...spec,
    },
    isPaused: false,
    anchorMs: start,
    cursorMs: start,
    cursorLocalMs: null,
    waiting: [],
    runs: 0,
    skippedInRow: 0,
    last: null,
    blocked: null,
    putWith: "t",
    createdAt: start,
    changedAt: start,
    ...parts,
  };
}

function timingOf({ spec }: Schedule): Timing {
  return { kind: "cron", cron: parseCron(spec.cron!), zone: utc };
}

function plan(schedule: Schedule, nowMs: number, isBusy = false) {
  return planFiring(schedule, { timing: timingOf(schedule), nowMs, isBusy });
}

const namesOf = (entries: readonly { name: string }[]) => entries.map(({ name }) => name);
const minutely = { cron: "* * * * *" };
const minute = (count: number): number => start + count * 60_000;
const waitingEntry = (name: string, by: Waiting["by"] = "clock"): Waiting => ({
  name,
  at: start,
  by,
  until: start + dayMs,
});

describe("a schedule that is looked at", () => {
  it("too early fires nothing, and is looked at again when it is due", () => {
    const { fire, after, nextAtMs } = plan(scheduleOf({ spec: minutely }), start + 59_999);
    expect(fire).toEqual([]);
    expect(after.cursorMs).toBe(start);
    expect(nextAtMs).toBe(start + 60_000);
  });

  it("in time fires the occurrence, and continues behind it", () => {
    const { fire, missed, after, nextAtMs } = plan(scheduleOf({ spec: minutely }), minute(1));
    expect(namesOf(fire)).toEqual(["2026-01-01T00:01:00Z"]);
    expect([missed, after.cursorMs, after.runs, nextAtMs]).toEqual([0, minute(1), 1, minute(2)]);
  });

  it.each([
    ["latest", 1],
    ["none", 0],
    ["all", 100],
  ] as const)("hazard 3: after 40 days, every second, with catch_up %s, fires %i", (catchUp, count) => {
    const away = start + 40 * dayMs;
    // Overlap `allow`, so that all of them are fired in this turn.
    const schedule = scheduleOf({ spec: { catch_up: catchUp, overlap: "allow" } });
    const { fire, missed, after, nextAtMs } = plan(schedule, away);
    expect(fire).toHaveLength(count);
    if (count > 0) expect(fire.at(-1)!.at).toBe(away);
    expect(missed).toBe(1_000 - count);
    expect(after.cursorMs).toBe(away);
    expect(nextAtMs).toBe(away + 1_000);
    expect(plan(after, away + 1_000).fire).toHaveLength(1);
  });

  it("hazard 3: catches up nothing that is older than its window", () => {
    const spec = { cron: "0 0 * * *", catch_up: "all", catch_up_sec: 3 * 86_400, overlap: "allow" } as const;
    const { fire } = plan(scheduleOf({ spec }), start + 20 * dayMs + 3_600_000);
    expect(namesOf(fire)).toEqual(["2026-01-19T00:00:00Z", "2026-01-20T00:00:00Z", "2026-01-21T00:00:00Z"]);
    const narrow = plan(
      scheduleOf({ spec: { cron: "0 0 * * *", catch_up_sec: 60 } }),
      start + dayMs + 3_600_000,
    );
    expect([narrow.fire.length, narrow.missed]).toEqual([0, 1]);
  });

  it("while the job before runs skips, waits, replaces or does not mind", () => {
    const busy = (overlap: ScheduleSpec["overlap"], waiting: Waiting[] = []) =>
      plan(scheduleOf({ spec: { ...minutely, overlap }, waiting }), minute(1), true);
    expect(busy("skip")).toMatchObject({ fire: [], skipped: [{ reason: "overlap" }], cancelsLast: false });
    expect(busy("wait")).toMatchObject({ fire: [], skipped: [], after: { waiting: [{ at: minute(1) }] } });
    expect(busy("allow").fire).toHaveLength(1);
    const replaced = busy("replace", [waitingEntry("old")]);
    expect(replaced).toMatchObject({ fire: [], cancelsLast: true });
    expect(replaced.skipped).toMatchObject([{ name: "old", reason: "replaced" }]);
    expect(namesOf(replaced.after.waiting)).toEqual(["2026-01-01T00:01:00Z"]);
  });

  it("looks again soon while something waits, and fires one after the other", () => {
    const schedule = scheduleOf({
      spec: { cron: "0 0 * * *", overlap: "wait" },
      waiting: [waitingEntry("a"), waitingEntry("b")],
    });
    const first = plan(schedule, start + 1);
    expect([namesOf(first.fire), namesOf(first.after.waiting)]).toEqual([["a"], ["b"]]);
    expect(first.nextAtMs).toBe(start + 1_001);
    expect(plan(first.after, start + 1_001, true).fire).toEqual([]);
    expect(namesOf(plan(first.after, start + 1_001).fire)).toEqual(["b"]);
  });

  it("counts those that were skipped in a row, until one is fired", () => {
    let schedule = scheduleOf({ spec: minutely });
    for (let count = 1; count <= 3; count++) schedule = plan(schedule, minute(count), true).after;
    expect(schedule.skippedInRow).toBe(3);
    expect(plan(schedule, minute(4)).after.skippedInRow).toBe(0);
  });

  it("hazard 8: while it is blocked keeps only the newest, and drops what waits too long", () => {
    const blocked = scheduleOf({
      spec: { ...minutely, catch_up_sec: 600 },
      waiting: [waitingEntry("old")],
      blocked: { since: start, reason: "no" },
    });
    const { fire, skipped } = plan(blocked, minute(1));
    expect(namesOf(fire)).toEqual(["2026-01-01T00:01:00Z"]);
    expect(skipped).toMatchObject([{ name: "old", reason: "replaced" }]);
    const late = plan({ ...blocked, isPaused: true }, start + 2 * dayMs);
    expect(late).toMatchObject({ fire: [], skipped: [{ name: "old", reason: "window" }], nextAtMs: null });
  });

  it("never lets more wait than allowed, and drops the oldest", () => {
    let schedule = scheduleOf({ spec: { ...minutely, overlap: "wait" } });
    for (let count = 1; count <= waitingMax + 2; count++)
      schedule = plan(schedule, minute(count), true).after;
    expect(schedule.waiting).toHaveLength(waitingMax);
    expect(schedule.waiting[0]!.at).toBe(minute(3));
  });

  it("ends at end_at and after max_runs", () => {
    const ending = scheduleOf({ spec: { ...minutely, end_at: minute(2) } });
    const last = plan({ ...ending, cursorMs: minute(1) }, minute(5));
    expect([namesOf(last.fire), last.nextAtMs]).toEqual([["2026-01-01T00:02:00Z"], null]);
    const once = plan(scheduleOf({ spec: { ...minutely, max_runs: 1 } }), minute(1));
    expect([once.fire.length, once.nextAtMs]).toEqual([1, null]);
    expect(plan(once.after, minute(9)).fire).toEqual([]);
  });

  it("is due later by a share of its jitter, always the same", () => {
    const jittered = scheduleOf({ spec: { ...minutely, jitter_sec: 30 } });
    const by = jitterMs(jittered);
    expect(by).toBeGreaterThanOrEqual(0);
    expect(by).toBeLessThan(30_000);
    expect(nextDue(jittered, timingOf(jittered))!.dueMs).toBe(minute(1) + by);
    expect(plan(jittered, minute(1) + by - 1).fire).toEqual([]);
    expect(plan(jittered, minute(1) + by).fire).toHaveLength(1);
    const shares = new Set(Array.from({ length: 100 }, (_, id) => jitterMs({ ...jittered, id: `id ${id}` })));
    expect(shares.size).toBeGreaterThan(90);
  });

  it("does nothing while it is paused, except for what a person has asked for", () => {
    const paused = scheduleOf({ spec: minutely, isPaused: true });
    expect(plan(paused, minute(5))).toMatchObject({ fire: [], missed: 0, nextAtMs: null });
    const asked = { ...paused, waiting: [waitingEntry("by hand", "backfill")] };
    expect(namesOf(plan(asked, minute(5)).fire)).toEqual(["by hand"]);
  });
});
