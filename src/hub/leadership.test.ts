import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../runtime/log/logger.ts";
import type { Service } from "../runtime/service.ts";
import type { HubBeat, HubSeat } from "../store/database/hub-seat.ts";
import { silentFailures } from "./failure-log.testing.ts";
import { Leadership, whileLeading } from "./leadership.ts";

/** A seat that the test controls. */
function seatOf(term: number | null) {
  const seat = { term, isAway: false, lose: () => {} };
  const hubSeat: HubSeat = {
    askMs: 3_600_000,
    silentMs: Number.POSITIVE_INFINITY,
    beat: async (): Promise<HubBeat> => {
      if (seat.isAway) throw new Error("away");
      return { term: seat.term, wasSilent: false, hubs: [], aheadMs: null };
    },
    readClock: async () => null,
    introduce: () => {},
    withdraw: async () => {},
    onLost: (listener) => {
      seat.lose = listener;
    },
    leave: async () => {},
  };
  return { seat, hubSeat };
}

async function led(term: number | null) {
  const { seat, hubSeat } = seatOf(term);
  const leadership = new Leadership(hubSeat, { logger: silentLogger, failures: silentFailures });
  const did: string[] = [];
  let failures = 0;
  const service: Service = {
    name: "s",
    start: async () => {
      if (failures-- > 0) throw new Error("not yet");
      did.push("start");
    },
    stop: async () => void did.push("stop"),
  };
  const errors: unknown[] = [];
  const wrapped = whileLeading(leadership, service, (error) => errors.push(error));
  await leadership.start();
  onTestFinished(() => leadership.stop());
  const beat = async (next: number | null) => {
    seat.term = next;
    await leadership.introduce({ name: "n", url: "u", version: "v" });
    // The consequences of a beat happen by the next turn of the event loop, because nothing here waits for longer.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const failNext = (count: number) => {
    failures = count;
  };
  return { seat, leadership, wrapped, did, errors, beat, failNext };
}

test("a service of the leader does not run at a follower, and its stop does nothing there", async () => {
  const { wrapped, did } = await led(null);
  await wrapped.start();
  await wrapped.stop();
  expect(did).toEqual([]);
});

test("a service has started when a leader's start resolves, and its failure rejects that start", async () => {
  const { wrapped, did, failNext } = await led(1);
  failNext(1);
  await expect(wrapped.start()).rejects.toThrow("not yet");
  await wrapped.start();
  expect(did).toEqual(["start"]);
});

test("a service starts and stops as the lead is taken, lost with the connection and taken again", async () => {
  const { wrapped, did, beat, seat, leadership } = await led(null);
  await wrapped.start();
  await beat(1);
  expect([did, leadership.isLeader]).toEqual([["start"], true]);
  seat.lose();
  expect(leadership.isLeader).toBe(false);
  await beat(null);
  expect(did).toEqual(["start", "stop"]);
  await beat(3);
  expect(did).toEqual(["start", "stop", "start"]);
  await wrapped.stop();
  await beat(4);
  expect(did).toEqual(["start", "stop", "start", "stop"]);
});

test("a start that fails later is tried again with the next beat", async () => {
  const { wrapped, did, beat, errors, failNext } = await led(null);
  await wrapped.start();
  failNext(1);
  await beat(1);
  expect([did, errors.length]).toEqual([[], 1]);
  await beat(1);
  expect(did).toEqual(["start"]);
});
