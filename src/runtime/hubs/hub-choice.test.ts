import { expect, test } from "vitest";
import { handClock } from "../clock/hand-clock.testing.ts";
import { HubChoice } from "./hub-choice.ts";

const first = () => 0;

test("clients begin with different hubs", () => {
  const clock = handClock();
  const begun = [0, 0.4, 0.99].map((chance) => new HubChoice(3, { clock, random: () => chance }).current);
  expect(begun).toEqual([0, 1, 2]);
});

test("it stays with a hub until that fails, and comes back only when the next one fails", async () => {
  const clock = handClock();
  const choice = new HubChoice(3, { clock, random: first });
  choice.failed(0);
  expect(choice.order()).toEqual([1, 2, 0]);
  choice.answered(1);
  await clock.pass(60_000);
  expect(choice.order()).toEqual([1, 2, 0]);
  expect([choice.current, choice.moves]).toEqual([1, 1]);
});

test("a late answer of the hub that was left does not make it the choice again", () => {
  const choice = new HubChoice(2, { clock: handClock(), random: first });
  choice.failed(0);
  choice.answered(1);
  choice.answered(0);
  expect(choice.order()).toEqual([1, 0]);
  expect(choice.moves).toBe(1);
});

test("a hub that fails rests, longer each time, and many failures together count once", async () => {
  const clock = handClock();
  const choice = new HubChoice(2, { clock, random: () => 0.999 });
  const restMs = async (): Promise<number> => {
    for (let call = 0; call < 100; call++) choice.failed(1);
    let ms = 0;
    for (; choice.order()[0] === 0; ms += 100) await clock.pass(100);
    return ms;
  };
  const rests = [await restMs(), await restMs(), await restMs()];
  expect(rests).toEqual([1000, 2000, 4000]);
  for (let failure = 0; failure < 20; failure++) await restMs();
  expect(await restMs()).toBe(30_000);
});

test("if all rest, all are tried, and first the one that has rested longest", async () => {
  const clock = handClock();
  const choice = new HubChoice(3, { clock, random: first });
  for (const hub of [2, 0, 1]) {
    choice.failed(hub);
    await clock.pass(10);
  }
  expect(choice.order()).toEqual([2, 0, 1]);
});
