import { expect, test } from "vitest";
import { TestClock } from "./test-clock.ts";

const hourMs = 3_600_000;

test("the time of day stands still until it is moved, and durations pass", async () => {
  const clock = new TestClock(1_000);
  const before = clock.monotonicMs();
  await clock.sleep(5);
  expect(clock.monotonicMs()).toBeGreaterThan(before);
  expect(clock.nowMs()).toBe(1_000);
  clock.move(hourMs);
  expect(clock.nowMs()).toBe(1_000 + hourMs);
  expect(clock.monotonicMs()).toBeGreaterThanOrEqual(before + hourMs);
});

test("a move fires the timers that are due, in their order, and leaves the others", () => {
  const clock = new TestClock(0);
  const fired: string[] = [];
  clock.setTimer(() => fired.push("second"), 2 * hourMs);
  clock.setTimer(() => fired.push("first"), hourMs);
  clock.setTimer(() => fired.push("cancelled"), hourMs).cancel();
  clock.setTimer(() => fired.push("third"), 4 * hourMs);
  clock.move(3 * hourMs);
  expect(fired).toEqual(["first", "second"]);
  clock.move(hourMs);
  expect(fired).toEqual(["first", "second", "third"]);
});

test("a timer that another one cancels does not fire, and each fires once", () => {
  const clock = new TestClock(0);
  const fired: string[] = [];
  clock.setTimer(() => {
    fired.push("first");
    second.cancel();
  }, 1_000);
  const second = clock.setTimer(() => fired.push("second"), 2_000);
  clock.move(hourMs);
  clock.move(hourMs);
  expect(fired).toEqual(["first"]);
});

test("a sleep ends with the reason of its signal, and a move ends the others", async () => {
  const clock = new TestClock(0);
  const abort = new AbortController();
  const ended = clock.sleep(hourMs, abort.signal);
  abort.abort(new Error("over"));
  await expect(ended).rejects.toThrow("over");
  await expect(clock.sleep(hourMs, abort.signal)).rejects.toThrow("over");
  const slept = clock.sleep(hourMs);
  clock.move(hourMs);
  await slept;
});
