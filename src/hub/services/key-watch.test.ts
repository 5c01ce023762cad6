import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { NewEvent } from "../../core/events.ts";
import { graceMsDefault } from "../../core/key-times.ts";
import { systemClock as clock } from "../../runtime/clock/clock.ts";
import { silentLogger as logger } from "../../runtime/log/logger.ts";
import { openKeyRing } from "../../signing/key-ring.ts";
import { openSqliteStore } from "../../store/sqlite/open-store.ts";
import type { HubDeps } from "../deps.ts";
import { silentFailures as failures } from "../failure-log.testing.ts";
import { rotate } from "../use-cases/access/manage-keys.ts";
import { EventFeed } from "./event-feed.ts";
import { createKeyWatch } from "./key-watch.ts";
import { RefusedRenewals } from "./refused-renewals.ts";

/** A hub's keys and its store, which refuses the first of these acts. */
async function open(refused?: "recallJobs" | "recordEvents") {
  const home = mkdtempSync(join(tmpdir(), "writ-key-watch-"));
  const keys = openKeyRing(join(home, "keys"), { nowMs: clock.nowMs() });
  const store = await openSqliteStore({ path: join(home, "writ.sqlite"), macKey: Buffer.alloc(32, 7) });
  const feed = new EventFeed(store, clock);
  await feed.start();
  onTestFinished(async () => {
    await feed.stop();
    await store.close();
    rmSync(home, { recursive: true, force: true });
  });
  let isRefused = false;
  const refuseFirst = (act: string): void => {
    if (act !== refused || isRefused) return;
    isRefused = true;
    throw new Error("the disk is full");
  };
  const recalled: string[] = [];
  const deps = {
    ...{ home, keys, feed, clock, logger, failures, tell: () => {} },
    settings: { keysDir: null, leaseMs: 60_000, backoffScale: 1 },
    renewals: new RefusedRenewals(),
    leadership: { isLeader: true },
    dispatcher: { tellAll: () => {} },
    store: {
      ...store,
      async recordEvents(input: { events: NewEvent[] }) {
        refuseFirst("recordEvents");
        return store.recordEvents(input);
      },
      async recallJobs(input: Parameters<typeof store.recallJobs>[0]) {
        refuseFirst("recallJobs");
        recalled.push(input.leaseKeyId!);
        return store.recallJobs(input);
      },
    },
  } as unknown as HubDeps;
  return { deps, store, keys, recalled };
}

async function watching(deps: HubDeps): Promise<void> {
  const watch = createKeyWatch(deps);
  await watch.start();
  onTestFinished(() => watch.stop());
}

test("the consequences of a key whose notice has ended are completed although the store refuses them at first", async () => {
  const { deps, store, keys, recalled } = await open("recallJobs");
  const old = keys.signing.keyId;
  keys.rotate({ nowMs: clock.nowMs(), graceMs: 0, emergency: true });
  await watching(deps);
  const revoked = () => store.readEvents({ afterSeq: 0, kinds: ["KEY_REVOKED"], limit: 10 });
  await expect.poll(async () => (await revoked()).map(({ details }) => details["key_id"])).toEqual([old]);
  expect(recalled).toContain(old);
});

test("the leases of a leaked key are taken back although the call that replaced the key failed", async () => {
  const { deps, keys, recalled } = await open("recordEvents");
  const old = keys.signing.keyId;
  await watching(deps);
  await expect(rotate(deps, { emergency: true, graceMs: 0, origin: null })).rejects.toThrow(
    "the disk is full",
  );
  await expect.poll(() => recalled).toEqual([old]);
});

test("O-16: a key whose grace period has ended retires, and its private half is deleted", async () => {
  const { deps, keys } = await open();
  const old = keys.signing.keyId;
  keys.rotate({ nowMs: clock.nowMs() - graceMsDefault });
  await watching(deps);
  await expect.poll(() => keys.list()[0]).toMatchObject({ key_id: old, status: "retired" });
  expect(readdirSync(join(deps.home, "keys"))).not.toContain(`signing-${old}.pem`);
});
