import { expect, test } from "vitest";
import { handClock } from "./hand-clock.testing.ts";
import { steadyClock } from "./steady-clock.ts";

const hourMs = 3_600_000;

/** A steady clock over one whose wall time a test can set. */
function scene() {
  const hand = handClock();
  let setByMs = 0;
  const clock = steadyClock({ ...hand, nowMs: () => hand.nowMs() + setByMs });
  return { clock, pass: hand.pass, set: (ms: number) => (setByMs = ms) };
}

for (const jumpMs of [hourMs, -hourMs]) {
  test(`A5: time passes steadily after the system's clock is set by ${jumpMs} ms, until it is followed`, async () => {
    const { clock, pass, set } = scene();
    await pass(5_000);
    set(jumpMs);
    expect(clock.nowMs()).toBe(5_000);
    await pass(1_000);
    expect(clock.nowMs()).toBe(6_000);
    expect(clock.jumpMs()).toBe(jumpMs);
    clock.follow(clock.jumpMs());
    expect(clock.nowMs()).toBe(6_000 + jumpMs);
    expect(clock.jumpMs()).toBe(0);
  });
}

test("A5: a correction of less than a second is not a jump", () => {
  const { clock, set } = scene();
  set(999);
  expect(clock.jumpMs()).toBe(0);
  expect(clock.nowMs()).toBe(999);
});

test("a clock that is followed instead of the system's holds, however wrong the system's is or is set", async () => {
  const { clock, pass, set } = scene();
  set(hourMs);
  const rightMs = clock.jumpMs(-hourMs);
  clock.follow(rightMs);
  expect([rightMs, clock.nowMs()]).toEqual([-hourMs, -hourMs]);
  set(3 * hourMs);
  await pass(5_000);
  expect([clock.nowMs(), clock.jumpMs(-hourMs)]).toEqual([5_000 - hourMs, 0]);
});
