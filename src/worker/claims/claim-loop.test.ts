import { expect, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { type Logger, silentLogger } from "../../runtime/log/logger.ts";
import { HubPresence } from "../hub/hub-presence.ts";
import type { Slots } from "../slots.ts";
import { ClaimGate } from "./claim-gate.ts";
import { ClaimLoop } from "./claim-loop.ts";

test("a blocked worker logs once that it is blocked and once that it is accepted again", async () => {
  const clock = handClock();
  const lines: string[] = [];
  const note = (first: unknown, message?: string) => void lines.push(message ?? String(first));
  const logger = { ...silentLogger, error: note, info: note } as unknown as Logger;
  let isBlocked = true;
  let claims = 0;
  const claim = async () => {
    claims++;
    if (isBlocked) throw new WritError("WORKER_BLOCKED", "worker w1 is blocked");
    return null;
  };
  const gate = new ClaimGate();
  const loop = new ClaimLoop({
    gate,
    clock,
    logger,
    random: () => 0.5,
    presence: new HubPresence(logger, clock),
    calls: { claim },
    slots: { onChange: () => {}, wanted: () => 1 } as unknown as Slots,
    pollIntervalMs: 100,
    receive: async () => {},
    onUnknown: () => {},
    onReplaced: () => {},
  });
  gate.setRegistered(true);
  gate.setStream(true);
  await loop.start();
  await clock.pass(60_000);
  expect(claims).toBeGreaterThan(5);
  expect(lines).toEqual(["the hub refuses this worker's claims; asking again until it accepts them"]);
  isBlocked = false;
  await clock.pass(60_000);
  expect(lines.slice(1)).toEqual(["the hub accepts this worker's claims again"]);
  await loop.stop();
});

/** A loop of a worker with a command stream, beside the waits of its claims. */
async function loopWith({ free, claimMs }: { free: number; claimMs: number }) {
  const clock = handClock();
  const waits: number[] = [];
  const gate = new ClaimGate();
  const loop = new ClaimLoop({
    gate,
    clock,
    logger: silentLogger,
    random: () => 0.5,
    presence: new HubPresence(silentLogger, clock),
    calls: {
      async claim({ waitMs, signal }) {
        waits.push(waitMs);
        if (waitMs > 0) await clock.sleep(claimMs, signal);
        return null;
      },
    },
    slots: { onChange: () => {}, wanted: () => 1, free } as unknown as Slots,
    pollIntervalMs: 100,
    receive: async () => {},
    onUnknown: () => {},
    onReplaced: () => {},
  });
  gate.setRegistered(true);
  gate.setStream(true);
  await loop.start();
  await clock.pass(20_000);
  return { loop, clock, waits };
}

async function end({ loop, clock }: Awaited<ReturnType<typeof loopWith>>): Promise<void> {
  const stopped = loop.stop();
  await clock.pass(5_000);
  await stopped;
}

test("a worker without a free slot does not wait at the hub for jobs that others could start", async () => {
  const busy = await loopWith({ free: 0, claimMs: 30_000 });
  expect(busy.waits.every((waitMs) => waitMs === 0)).toBe(true);
  await end(busy);
});

test("a claim that the hub does not let wait is not repeated at once", async () => {
  const idle = await loopWith({ free: 1, claimMs: 0 });
  expect(idle.waits.filter((waitMs) => waitMs > 0)).toHaveLength(1);
  await end(idle);
});

test("the claim of an idle worker waits at the hub and is aborted at the stop", async () => {
  const idle = await loopWith({ free: 1, claimMs: 30_000 });
  expect(idle.waits.at(-1)).toBeGreaterThan(0);
  expect(idle.waits.filter((waitMs) => waitMs > 0)).toHaveLength(1);
  await end(idle);
});

test("the first claim after an outage does not wait at the hub, so the worker logs the hub's return at once", async () => {
  const clock = handClock();
  const lines: string[] = [];
  const warn = (first: unknown, message?: string) => void lines.push(message ?? String(first));
  const logger = { ...silentLogger, warn } as unknown as Logger;
  let isAway = true;
  const gate = new ClaimGate();
  const loop = new ClaimLoop({
    gate,
    clock,
    logger,
    random: () => 0.5,
    presence: new HubPresence(logger, clock),
    calls: {
      async claim({ waitMs, signal }) {
        if (isAway) throw new WritError("STORE_UNAVAILABLE", "the database is away");
        await clock.sleep(waitMs, signal);
        return null;
      },
    },
    slots: { onChange: () => {}, wanted: () => 1, free: 1 } as unknown as Slots,
    pollIntervalMs: 100,
    receive: async () => {},
    onUnknown: () => {},
    onReplaced: () => {},
  });
  gate.setRegistered(true);
  gate.setStream(true);
  await loop.start();
  await clock.pass(10_000);
  isAway = false;
  await clock.pass(2_000);
  expect(lines).toEqual([
    "the hub does not serve this worker at present; trying again until it is back",
    "the hub is back after 11 s",
  ]);
  const stopped = loop.stop();
  await clock.pass(5_000);
  await stopped;
});
