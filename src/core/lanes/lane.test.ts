import fc from "fast-check";
import { expect, test } from "vitest";
import { isSameLane, numbersOf, placesFree, rateOpensAt, withStart } from "./lane.ts";

const nowMs = 1_700_000_000_000;
const open = (rate: { limit: number; period_sec: number; burst?: number }) => ({
  ...numbersOf({ name: "a", rate }),
  active: 0,
  startsUs: 0,
});

test("a lane with a limit is full when as many jobs run, and stays so when the limit is lowered", () => {
  const lane = { ...numbersOf({ name: "a", max_running: 2 }), active: 0, startsUs: 0 };
  expect([0, 1, 2, 3].map((active) => placesFree({ ...lane, active }, nowMs))).toEqual([2, 1, 0, 0]);
  expect(rateOpensAt(lane, nowMs)).toBeNull();
});

test("hazard 15: no window has more starts than the limit and a burst, whatever the clock does", () => {
  const step = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5_000 }));
  fc.assert(
    fc.property(
      fc.record({
        limit: fc.integer({ min: 1, max: 50 }),
        period_sec: fc.integer({ min: 1, max: 10 }),
        burst: fc.integer({ min: 1, max: 5 }),
      }),
      fc.array(step, { minLength: 50, maxLength: 300 }),
      (rate, steps) => {
        let lane = open({ ...rate, burst: Math.min(rate.burst, rate.limit) });
        const starts: number[] = [];
        let at = nowMs;
        for (const ms of steps) {
          at += ms;
          if (placesFree(lane, at) === 0) {
            expect(rateOpensAt(lane, at)).toBeGreaterThan(at);
            continue;
          }
          expect(rateOpensAt(lane, at)).toBeNull();
          lane = withStart(lane, at);
          starts.push(at);
        }
        for (const [index, from] of starts.entries()) {
          const inWindow = starts.slice(index).filter((each) => each < from + rate.period_sec * 1000);
          expect(inWindow.length).toBeLessThanOrEqual(rate.limit + rate.burst);
        }
      },
    ),
  );
});

test("hazard 15: a clock that was set back by a year closes no lane for longer than its burst", () => {
  const lane = withStart(open({ limit: 1, period_sec: 60 }), nowMs);
  const before = nowMs - 365 * 86_400_000;
  expect(rateOpensAt(lane, before)).toBe(before + 60_000);
});

test("a rate opens when it says, and not a moment before", () => {
  const lane = withStart(open({ limit: 3, period_sec: 1 }), nowMs);
  const at = rateOpensAt(lane, nowMs)!;
  expect([placesFree(lane, at - 1), placesFree(lane, at)]).toEqual([0, 1]);
});

test("two terms make the same lane if they have the same numbers, given or not", () => {
  const rate = { limit: 60, period_sec: 60 };
  const one = numbersOf({ name: "a", rate });
  expect(isSameLane(one, numbersOf({ name: "a", rate: { ...rate, burst: 1 } }))).toBe(true);
  expect(isSameLane(one, numbersOf({ name: "a", rate: { limit: 1, period_sec: 1 } }))).toBe(false);
  expect(isSameLane(one, numbersOf({ name: "a", rate, max_running: 1 }))).toBe(false);
});
