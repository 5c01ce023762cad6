import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCron } from "./cron.ts";
import { nextMatch } from "./next-match.ts";
import {
  lastOccurrence,
  nextOccurrence,
  nextOccurrences,
  type Timing,
  utc,
  type Zone,
} from "./occurrences.ts";

const cronAt = (text: string, zone: Zone = utc): Timing => ({ kind: "cron", cron: parseCron(text), zone });
const at = (text: string): number => Date.parse(text);
const times = (timing: Timing, after: string, count: number): string[] =>
  nextOccurrences(timing, { atMs: at(after) }, count).map(({ atMs }) => new Date(atMs).toISOString());

/** A place that changes its clock once. */
function changing(atText: string, { before, after }: { before: number; after: number }): Zone {
  const change = at(atText);
  return {
    label: "[Test/Place]",
    offsetAt: (ms) => (ms < change ? before : after) * 3_600_000,
    changeAfter: (ms) => (ms < change ? change : null),
    changeBefore: (ms) => (ms < change ? null : change),
  };
}

describe("the next occurrence", () => {
  it("is after the place, never at it", () => {
    expect(times(cronAt("0 12 * * *"), "2026-01-01T12:00:00Z", 2)).toEqual([
      "2026-01-02T12:00:00.000Z",
      "2026-01-03T12:00:00.000Z",
    ]);
    expect(times(cronAt("0 12 * * *"), "2026-01-01T11:59:59.999Z", 1)).toEqual(["2026-01-01T12:00:00.000Z"]);
  });

  it("is years away if it has to be", () => {
    expect(times(cronAt("0 0 29 2 *"), "2096-03-01T00:00:00Z", 1)).toEqual(["2104-02-29T00:00:00.000Z"]);
    expect(times(cronAt("0 0 31 * *"), "2026-01-31T00:00:00Z", 2)).toEqual([
      "2026-03-31T00:00:00.000Z",
      "2026-05-31T00:00:00.000Z",
    ]);
  });

  it("of an interval counts from its start, and continues there after any pause", () => {
    const timing: Timing = { kind: "every", everyMs: 90_000, anchorMs: at("2026-01-01T00:00:10Z") };
    expect(times(timing, "2025-06-01T00:00:00Z", 2)).toEqual([
      "2026-01-01T00:00:10.000Z",
      "2026-01-01T00:01:40.000Z",
    ]);
    expect(times(timing, "2026-01-01T10:00:00Z", 1)).toEqual(["2026-01-01T10:00:10.000Z"]);
  });

  it("fits a day of the month or a weekday when both are given", () => {
    expect(times(cronAt("0 0 13 * fri"), "2026-11-05T00:00:00Z", 3)).toEqual([
      "2026-11-06T00:00:00.000Z",
      "2026-11-13T00:00:00.000Z",
      "2026-11-20T00:00:00.000Z",
    ]);
  });

  it("of a fixed time keeps its name under other zone data, and comes once under both", () => {
    const early = changing("2030-03-31T01:00:00Z", { before: 1, after: 2 });
    const none = changing("2040-01-01T00:00:00Z", { before: 1, after: 1 });
    const first = nextOccurrence(cronAt("15,45 2 * * *", early), { atMs: at("2030-03-30T12:00:00Z") })!;
    expect(first).toMatchObject({
      atMs: at("2030-03-31T01:00:00Z"),
      name: "2030-03-31T02:15:00[Test/Place]",
    });
    // Another hub, whose zone data have no change, continues from there: 02:15 and 02:45 are still before it, and are not repeated.
    const second = nextOccurrence(cronAt("15,45 2 * * *", none), first)!;
    expect(second.name).toBe("2030-04-01T02:15:00[Test/Place]");
    const other = nextOccurrence(cronAt("15,45 2 * * *", none), { atMs: at("2030-03-30T12:00:00Z") })!;
    expect(other.name).toBe(first.name);
  });

  it("of no place lies at or before it, whatever the zone data", () => {
    const zones = [
      utc,
      changing("2030-06-01T01:00:00Z", { before: 1, after: 2 }),
      changing("2030-06-01T01:00:00Z", { before: 2, after: 1 }),
      changing("2030-06-01T10:00:00Z", { before: -10, after: 14 }),
      changing("2030-06-01T10:00:00Z", { before: 14, after: -10 }),
    ];
    const texts = ["30 2 * * *", "*/15 * * * *", "0 0 * * *", "10 0,1,2,3 1 * *", "*/7 */3 * * mon"];
    const names = new Set<string>();
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.array(fc.constantFrom(...zones), { minLength: 2, maxLength: 20 }),
        fc.integer({ min: at("2030-05-30T00:00:00Z"), max: at("2030-06-02T00:00:00Z") }),
        (text, hubs, atMs) => {
          names.clear();
          let place = { atMs, localMs: null as number | null };
          for (const zone of hubs) {
            const next = nextOccurrence(cronAt(text, zone), place)!;
            expect(next.atMs).toBeGreaterThan(place.atMs);
            expect(names.has(next.name)).toBe(false);
            names.add(next.name);
            place = next;
          }
        },
      ),
    );
  });
});

describe("the last occurrence up to an instant", () => {
  it("is the one that a walk ends at", () => {
    const zones = [utc, changing("2030-06-01T01:00:00Z", { before: 1, after: 2 })];
    fc.assert(
      fc.property(
        fc.constantFrom("30 2 * * *", "*/15 * * * *", "0 9-17 * * mon-fri", "10 0,1 1 * *", "*/7 * * * * *"),
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 3 * 86_400_000 }),
        fc.integer({ min: 0, max: 86_400_000 }),
        (text, zone, offset, span) => {
          const timing = cronAt(text, zone);
          const after = { atMs: at("2030-05-30T00:00:00Z") + offset };
          const through = after.atMs + span;
          let walked: ReturnType<typeof nextOccurrence> = null;
          for (let next = nextOccurrence(timing, after); next !== null && next.atMs <= through; ) {
            walked = next;
            next = nextOccurrence(timing, next);
          }
          expect(lastOccurrence(timing, after, through)?.atMs).toBe(walked?.atMs);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("is found as soon in forty days of seconds as in one", () => {
    const timing = cronAt("* * * * * *");
    const after = { atMs: at("2026-01-01T00:00:00Z") };
    expect(lastOccurrence(timing, after, at("2026-02-10T00:00:00.500Z"))?.name).toBe("2026-02-10T00:00:00Z");
    expect(lastOccurrence(timing, after, after.atMs + 999)).toBeNull();
  });
});

describe("the next local time that fits", () => {
  it("is the first of all that a walk by the second finds", () => {
    const part = (from: number, to: number) =>
      fc.oneof(
        fc.constant("*"),
        fc.integer({ min: from, max: to }).map(String),
        fc.integer({ min: 1, max: to }).map((step) => `*/${step}`),
        fc
          .tuple(fc.integer({ min: from, max: to }), fc.integer({ min: from, max: to }))
          .map(([a, b]) => (a <= b ? `${a}-${b}` : `${b},${a}`)),
      );
    const start = at("2027-02-28T23:00:00Z");
    fc.assert(
      fc.property(
        fc.tuple(part(0, 59), part(0, 59), part(0, 23), part(1, 28), part(0, 6)),
        fc.integer({ min: 0, max: 7_200_000 }),
        ([second, minute, hour, day, weekday], offset) => {
          const cron = parseCron(`${second} ${minute} ${hour} ${day} * ${weekday}`);
          const from = start + offset;
          const found = nextMatch(cron, from)!;
          const walked = walk(from, Math.min(found + 1, from + 4_000_000));
          const first = walked.find((ms) => fits(cron, new Date(ms)));
          if (found < from + 4_000_000) expect(first).toBe(found);
          else expect(first).toBeUndefined();
          expect(fits(cron, new Date(found))).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });
});

function walk(from: number, to: number): number[] {
  const seconds: number[] = [];
  for (let ms = Math.ceil(from / 1000) * 1000; ms < to; ms += 1000) seconds.push(ms);
  return seconds;
}

function fits(cron: ReturnType<typeof parseCron>, date: Date): boolean {
  const isDay = cron.daysOfMonth.includes(date.getUTCDate());
  const isWeekday = cron.weekdays.includes(date.getUTCDay());
  return (
    cron.seconds.includes(date.getUTCSeconds()) &&
    cron.minutes.includes(date.getUTCMinutes()) &&
    cron.hours.includes(date.getUTCHours()) &&
    cron.months.includes(date.getUTCMonth() + 1) &&
    (cron.isEitherDay ? isDay || isWeekday : isDay && isWeekday)
  );
}
