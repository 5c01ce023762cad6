import { expect, test } from "vitest";
import { handClock } from "../clock/hand-clock.testing.ts";
import { HubPulse } from "./hub-pulse.ts";

function start({ isAlive = true } = {}) {
  const clock = handClock();
  const asked: number[] = [];
  const pulse = new HubPulse({
    clock,
    async ask() {
      asked.push(clock.monotonicMs());
      if (!isAlive) throw new Error("no answer");
    },
  });
  return { clock, pulse, asked };
}

test("all that waits for a frozen hub is given up at once, but not what was answered", async () => {
  const { clock, pulse, asked } = start({ isAlive: false });
  const given: string[] = [];
  pulse.watch(() => given.push("first"));
  pulse.watch(() => given.push("second"));
  pulse.watch(() => given.push("answered"))();
  await clock.pass(2_999);
  expect(given).toEqual([]);
  await clock.pass(1);
  expect(given).toEqual(["first", "second"]);
  await clock.pass(60_000);
  expect(asked).toEqual([3_000]);
});

test("a hub that lives is asked again at longer intervals, and for a new call after the short one", async () => {
  const { clock, pulse, asked } = start();
  const release = pulse.watch(() => expect.unreachable());
  await clock.pass(40_000);
  expect(asked).toEqual([3_000, 18_000, 33_000]);
  const releaseSecond = pulse.watch(() => expect.unreachable());
  await clock.pass(3_000);
  expect(asked.at(-1)).toBe(43_000);
  release();
  releaseSecond();
  await clock.pass(60_000);
  expect(asked.length).toBe(4);
});

test("a hub from which something comes is not asked", async () => {
  const { clock, pulse, asked } = start();
  pulse.watch(() => expect.unreachable());
  for (let second = 0; second < 60; second++) {
    pulse.seen();
    await clock.pass(1_000);
  }
  expect(asked).toEqual([]);
});

test("a closed one asks nothing more", async () => {
  const { clock, pulse, asked } = start({ isAlive: false });
  pulse.watch(() => expect.unreachable());
  pulse.close();
  pulse.watch(() => expect.unreachable());
  await clock.pass(60_000);
  expect(asked).toEqual([]);
});
