import { expect, test } from "vitest";
import type { NewEvent } from "../../core/events.ts";
import { type Clock, systemClock } from "../../runtime/clock/clock.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { type Refusal, RefusalLog } from "./refusal-log.ts";

function logOf(clock: Clock = systemClock): { log: RefusalLog; written: NewEvent[] } {
  const written: NewEvent[] = [];
  const store = { recordEvents: async ({ events }: { events: NewEvent[] }) => void written.push(...events) };
  return { log: new RefusalLog(store, clock, () => {}), written };
}

function refusal(caller: string, subject?: string): Refusal {
  const details = { role: "user", error: "no", evidence_against: "w" };
  return { event: "PERMISSION_DENIED", tenantId: "acme", jobId: "j", origin: null, details, caller, subject };
}

test("A11: a caller's first refusal is recorded whole and the others as one count", async () => {
  const { log, written } = logOf();
  for (let count = 0; count < 500; count++) await log.record(refusal("t1"));
  await log.record(refusal("t2"));
  expect(written).toMatchObject([
    { jobId: "j", details: { error: "no" } },
    { jobId: "j", details: { error: "no" } },
  ]);
  await log.stop();
  expect(written).toHaveLength(3);
  expect(written[2]).toMatchObject({ event: "PERMISSION_DENIED", tenantId: "acme", jobId: null });
  expect(written[2]!.details).toEqual({ role: "user", folded: 499, since: expect.any(Number) });
});

test("A11: a caller with endless new subjects gets a few records and a count", async () => {
  const { log, written } = logOf();
  for (let count = 0; count < 500; count++) await log.record(refusal("t1", `job ${count}`));
  await log.stop();
  const whole = written.filter(({ details }) => details["folded"] === undefined);
  expect(whole).toHaveLength(11);
  expect(written).toHaveLength(12);
  expect(written.at(-1)!.details["folded"]).toBe(489);
});

test("a subject whose minute is over makes room for one new subject, and not for ten", async () => {
  const clock = handClock();
  const { log, written } = logOf(clock);
  await log.start();
  await log.record(refusal("t1", "job 0"));
  await clock.pass(30_000);
  for (let count = 1; count < 10; count++) await log.record(refusal("t1", `job ${count}`));
  expect(written).toHaveLength(10);
  await clock.pass(31_000);
  for (let count = 10; count < 20; count++) await log.record(refusal("t1", `job ${count}`));
  // One of them has its own record, and the first of the others represents the rest.
  expect(written).toHaveLength(12);
  await log.stop();
});

test("refusals are counted while the store cannot record them", async () => {
  const clock = handClock();
  const written: NewEvent[] = [];
  let isAway = true;
  const store = {
    recordEvents: async ({ events }: { events: NewEvent[] }) => {
      if (isAway) throw new Error("the database is away");
      written.push(...events);
    },
  };
  const log = new RefusalLog(store, clock, () => {});
  await log.start();
  await expect(log.record(refusal("t1"))).rejects.toThrow("away");
  await log.record(refusal("t1"));
  // The minute is over, and its count could not be written.
  await clock.pass(62_000);
  await log.record(refusal("t1"));
  isAway = false;
  await clock.pass(62_000);
  expect(written.map(({ details }) => details["folded"])).toEqual([3]);
  await log.stop();
});
