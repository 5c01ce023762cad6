import { expect, test } from "vitest";
import { WritError } from "../core/errors.ts";
import { handClock } from "../runtime/hand-clock.testing.ts";
import { warningLogger } from "../runtime/logger.ts";
import { HubLink } from "./hub-link.ts";
import { HubPresence } from "./hub-presence.ts";

test("C2: a hub that does not answer is reported within seconds, and once", async () => {
  const clock = handClock();
  const said: string[] = [];
  const logger = warningLogger((sentence) => said.push(sentence));
  const answer = Promise.withResolvers<never>();
  const link = new HubLink({
    clock,
    random: () => 0,
    logger,
    presence: new HubPresence(logger, clock),
    calls: { listKeys: () => answer.promise } as never,
    keys: {} as never,
    registration: () => ({}) as never,
    onRegistered() {},
    onRefused() {},
    onKeysLost() {},
    onStream() {},
    onCommand() {},
  });
  const started = link.start();
  await clock.pass(2_999);
  expect(said).toEqual([]);
  await clock.pass(60_000);
  expect(said).toEqual(["the hub has not answered yet; still trying"]);
  answer.reject(new Error("not a hub"));
  await expect(started).rejects.toThrow("not a hub");
});

test("a worker that is blocked connects ever less often, at least once a minute", async () => {
  const clock = handClock();
  const logger = warningLogger(() => {});
  let registrations = 0;
  const link = new HubLink({
    clock,
    random: () => 1,
    logger,
    presence: new HubPresence(logger, clock),
    calls: {
      listKeys: async () => ({ keys: [] }),
      register: async () => {
        registrations++;
      },
      openCommands: async () => {
        throw new WritError("WORKER_BLOCKED", "worker w1 is blocked");
      },
      removeWorker: async () => {},
    } as never,
    keys: { hasRoots: true, drop: async () => false, trusted: () => ["a key"], names: () => [] } as never,
    registration: () => ({}) as never,
    onRegistered() {},
    onRefused() {},
    onKeysLost() {},
    onStream() {},
    onCommand() {},
  });
  await link.start();
  for (let second = 0; second < 600; second++) await clock.pass(1_000);
  const early = registrations;
  for (let second = 0; second < 600; second++) await clock.pass(1_000);
  expect(early).toBeLessThan(20);
  expect(registrations - early).toBe(10);
  await link.stop();
});
