import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { NewEvent } from "../../core/events.ts";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import { silentFailures } from "../failure-log.testing.ts";
import { DamageLog } from "./damage-log.ts";
import { createStoreCheck } from "./store-check.ts";

test("A8: a file that is damaged is reported some seconds after the start", async () => {
  const { path, recorded, clock, service } = setUp();
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
  database.close();
  const bytes = readFileSync(path);
  // The second page, where the table begins.
  writeFileSync(path, bytes.fill(0xff, 4_096, 4_200));
  await service.start();
  await clock.pass(9_000);
  expect(recorded).toEqual([]);
  await clock.pass(2_000);
  await expect.poll(() => recorded).toMatchObject([{ event: "STORE_CORRUPT", jobId: null, tenantId: null }]);
  await service.stop();
});

test("A8: a hub that stops does not wait for the check", async () => {
  const { path, recorded, clock, service } = setUp();
  new DatabaseSync(path).close();
  await service.start();
  await clock.pass(11_000);
  await service.stop();
  expect(recorded).toEqual([]);
});

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "writ-check-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "writ.sqlite");
  const recorded: NewEvent[] = [];
  const clock = handClock();
  const store = {
    recordEvents: async ({ events }: { events: NewEvent[] }) => void recorded.push(...events),
  };
  const damage = new DamageLog({ store, clock, logger: silentLogger });
  return {
    path,
    recorded,
    clock,
    service: createStoreCheck({ clock, damage, failures: silentFailures }, path),
  };
}
