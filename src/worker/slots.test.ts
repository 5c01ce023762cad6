import { expect, test } from "vitest";
import { handClock } from "../runtime/clock/hand-clock.testing.ts";
import type { HeldJob } from "./claims/held-jobs.ts";
import { Slots } from "./slots.ts";

/** One slot, and jobs of which the first takes it. */
function holdThree() {
  const clock = handClock();
  const ran: string[] = [];
  const givenBack: string[] = [];
  const free = new Map<string, () => void>();
  const slots = new Slots({
    slots: 1,
    mayLookAhead: true,
    clock,
    run: (held, freeSlot) => {
      ran.push(held.key);
      free.set(held.key, freeSlot);
      return new Promise(() => {});
    },
    giveBack: (jobs) => givenBack.push(...jobs.map(({ key }) => key)),
    heldCount: () => 3,
  });
  const jobs = ["first", "second", "third"].map((key) => ({ key }) as HeldJob);
  slots.add(jobs);
  return { clock, slots, jobs, ran, givenBack, free };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("a waiting job that was cancelled or lost ends at once, takes no slot and has no turn", async () => {
  const { slots, jobs, ran, free } = holdThree();
  slots.endWaiting(jobs[1]!);
  expect(ran).toEqual(["first", "second"]);
  expect(slots.used).toBe(1);
  free.get("first")!();
  await nextTurn();
  expect(ran).toEqual(["first", "second", "third"]);
});

test("jobs that could not start for two seconds are released, and the running one continues", async () => {
  const { clock, ran, givenBack } = holdThree();
  await clock.pass(1_999);
  expect(givenBack).toEqual([]);
  await clock.pass(1);
  expect(givenBack).toEqual(["second", "third"]);
  expect(ran).toEqual(["first"]);
});

test("a job that was removed from the waiting ones does not start when a slot becomes free", async () => {
  const { slots, ran, free } = holdThree();
  expect(slots.takeWaiting().map(({ key }) => key)).toEqual(["second", "third"]);
  free.get("first")!();
  await nextTurn();
  expect(ran).toEqual(["first"]);
});
