import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { verifyAudit } from "../../src/hub/admin.ts";
import { dayOf, listColdDays } from "../../src/hub/audit/cold-files.ts";
import { moveCold } from "../../src/hub/audit/move-cold.ts";
import { silentFailures } from "../../src/hub/failure-log.testing.ts";
import { EventFeed } from "../../src/hub/services/event-feed.ts";
import { loadHubSettings } from "../../src/hub/settings/settings.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import { openSqliteStore } from "../../src/store/sqlite/open-store.ts";
import { startTestHub } from "../support/hub.ts";
import { noonClock } from "../support/noon-clock.ts";

test("a crash between the file and the table leaves a record in both, and the next round in one", async () => {
  const home = mkdtempSync(join(tmpdir(), "writ-move-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const [clock, tenDaysAgo] = [noonClock(), noonClock(-10)];
  const old = await startTestHub({}, { home, clock: tenDaysAgo });
  await old.stop({ keepHome: true });

  const keys = openKeyRing(join(home, "keys"), { nowMs: clock.nowMs() });
  const store = await openSqliteStore({ path: join(home, "writ.sqlite"), macKey: keys.macKey });
  onTestFinished(() => store.close());
  const settings = await loadHubSettings({ home, flags: {}, env: {} });
  const auditDir = join(home, "audit");
  const feed = new EventFeed(store, clock);
  const deps = { store, keys, clock, failures: silentFailures, feed, home, settings, auditDir };
  const { signal } = new AbortController();
  const { last } = await store.eventRange();
  expect(last).toBeGreaterThan(0);

  const dying = { ...store, pruneEvents: () => Promise.reject(new Error("the power is gone")) };
  await expect(moveCold({ ...deps, store: dying }, signal)).rejects.toThrow("the power is gone");
  expect(await listColdDays(auditDir)).toEqual([dayOf(tenDaysAgo.nowMs())]);
  expect((await store.eventRange()).last).toBe(last);
  expect((await verifyAudit({ home, env: {} })).faults).toEqual([]);

  await moveCold(deps, signal);
  expect(await store.eventRange()).toEqual({ first: 0, last: 0 });
  const [day] = await listColdDays(auditDir);
  const lines = gunzipSync(readFileSync(join(auditDir, `${day}.ndjson.gz`)))
    .toString()
    .trim()
    .split("\n");
  expect(lines).toHaveLength(last);
  expect((await verifyAudit({ home, env: {} })).faults).toEqual([]);
});
