import { expect, test } from "vitest";
import { WritError } from "../core/errors.ts";
import { handClock } from "../runtime/hand-clock.testing.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import { ClaimLoop } from "./claim-loop.ts";
import { HubPresence } from "./hub-presence.ts";
import type { Slots } from "./slots.ts";

test("a worker that is blocked says so once, and once that it is not", async () => {
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
  const loop = new ClaimLoop({
    clock,
    logger,
    random: () => 0.5,
    presence: new HubPresence(logger, clock),
    calls: { claim },
    slots: { onChange: () => {}, wanted: () => 1 } as unknown as Slots,
    pollIntervalMs: 100,
    receive: async () => {},
    onUnknown: () => {},
  });
  loop.isRegistered = true;
  loop.hasStream = true;
  await loop.start();
  await clock.pass(60_000);
  expect(claims).toBeGreaterThan(5);
  expect(lines).toEqual(["the hub refuses this worker's claims; asking again until it accepts them"]);
  isBlocked = false;
  await clock.pass(60_000);
  expect(lines.slice(1)).toEqual(["the hub accepts this worker's claims again"]);
  await loop.stop();
});
