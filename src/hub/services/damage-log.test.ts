import { expect, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import type { NewEvent } from "../../core/events.ts";
import { systemClock as clock } from "../../runtime/clock/clock.ts";
import { silentLogger as logger } from "../../runtime/log/logger.ts";
import { DamageLog } from "./damage-log.ts";

test("damage that could not be recorded is recorded by the next call that finds it, and once only", async () => {
  const recorded: NewEvent[] = [];
  let isAway = true;
  const recordEvents = async ({ events }: { events: NewEvent[] }) => {
    if (isAway) throw new WritError("STORE_UNAVAILABLE", "the disk is full");
    recorded.push(...events);
  };
  const log = new DamageLog({ store: { recordEvents }, clock, logger });
  const damage = { job: { id: "j1", tenantId: "acme" }, parts: ["result"], error: "it does not parse" };
  await expect(log.record(damage)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  isAway = false;
  await log.record(damage);
  await log.record(damage);
  expect(recorded).toMatchObject([{ event: "STORE_CORRUPT", jobId: "j1" }]);
});
