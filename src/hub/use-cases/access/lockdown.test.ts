import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock as clock } from "../../../runtime/clock/clock.ts";
import { silentLogger as logger } from "../../../runtime/log/logger.ts";
import { openKeyRing } from "../../../signing/key-ring.ts";
import { openSqliteStore } from "../../../store/sqlite/open-store.ts";
import type { HubDeps } from "../../deps.ts";
import { silentFailures as failures } from "../../failure-log.testing.ts";
import { RefusedRenewals } from "../../services/refused-renewals.ts";
import { lockDown } from "./lockdown.ts";

test("a lockdown for a leaked key rotates the key once although the first try could not take back the leases", async () => {
  const home = mkdtempSync(join(tmpdir(), "writ-lockdown-"));
  const keys = openKeyRing(join(home, "keys"), { nowMs: clock.nowMs() });
  const store = await openSqliteStore({ path: join(home, "writ.sqlite"), macKey: Buffer.alloc(32, 7) });
  onTestFinished(async () => {
    await store.close();
    rmSync(home, { recursive: true, force: true });
  });
  let tries = 0;
  const recallJobs = async (input: Parameters<typeof store.recallJobs>[0]) => {
    if (++tries === 1) throw new Error("the disk is full");
    return store.recallJobs(input);
  };
  const deps = {
    ...{ keys, clock, logger, failures, settings: { leaseMs: 60_000, backoffScale: 1 } },
    renewals: new RefusedRenewals(),
    workers: { forgetAll: () => {} },
    dispatcher: { wakeAll: () => {}, tellAll: () => {} },
    store: { ...store, recallJobs },
  } as unknown as HubDeps;
  const old = keys.signing.keyId;
  const lock = () => lockDown(deps, { reason: "a key has leaked", userId: null, origin: null, rotate: true });
  await expect(lock()).rejects.toThrow("the disk is full");
  const made = keys.signing.keyId;
  expect(made).not.toBe(old);
  expect(await lock()).toBe(false);
  expect(keys.signing.keyId).toBe(made);
  expect(await store.getLockdown()).toMatchObject({ reason: "a key has leaked" });
});
