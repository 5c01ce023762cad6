import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type AuditVerdict, verifyAudit } from "../../src/hub/admin.ts";
import { marksPath, signMark } from "../../src/hub/audit/audit-marks.ts";
import { coldPath, dayOf, listColdDays } from "../../src/hub/audit/cold-files.ts";
import { moveCold } from "../../src/hub/audit/move-cold.ts";
import { silentFailures } from "../../src/hub/failure-log.testing.ts";
import { EventFeed } from "../../src/hub/services/event-feed.ts";
import { loadHubSettings } from "../../src/hub/settings/settings.ts";
import { generateSigningKey } from "../../src/signing/ed25519.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import { openSqliteStore } from "../../src/store/sqlite/open-store.ts";
import { readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub } from "../support/hub.ts";
import { submitJob } from "../support/jobs.ts";
import { noonClock } from "../support/noon-clock.ts";

const day = (daysAgo: number): string => dayOf(noonClock(-daysAgo).nowMs());
const [ancient, old, recent] = [day(45), day(44), day(20)];

/** Two days in files and one in the table; and a home of later, with that one in a file as well. */
let early: string;
let late: string;

async function runHub(home: string, daysAgo: number, daysInFiles: string[]): Promise<void> {
  const hub = await startTestHub({}, { home, clock: noonClock(-daysAgo) });
  try {
    await submitJob(hub);
    await eventually("what is old lies in files, and only there", async () => {
      const days = await listColdDays(join(home, "audit"));
      return isDeepStrictEqual(days, daysInFiles) && countBefore(home, day(daysAgo + 7)) === 0;
    });
  } finally {
    await hub.stop({ keepHome: true });
  }
}

/** A record leaves the table a moment after its file is there. */
function countBefore(home: string, hotFrom: string): number {
  return readEvents(home).filter(({ ts }) => ts < Date.parse(hotFrom)).length;
}

beforeAll(async () => {
  early = mkdtempSync(join(tmpdir(), "writ-forgets-"));
  await runHub(early, 45, []);
  await runHub(early, 44, []);
  await runHub(early, 20, [ancient, old]);
  late = copyOf(early);
  await runHub(late, 0, [ancient, old, recent]);
});
afterAll(() => {
  for (const home of [early, late]) rmSync(home, { recursive: true, force: true });
});

function copyOf(home: string): string {
  const copy = mkdtempSync(join(tmpdir(), "writ-forgets-"));
  cpSync(home, copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

function scratch(home: string): string {
  const copy = copyOf(home);
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  return copy;
}

/** One round of the retention of a hub that keeps files for 30 days. */
async function forget(home: string): Promise<void> {
  const clock = noonClock();
  const keys = openKeyRing(join(home, "keys"), { nowMs: clock.nowMs() });
  const store = await openSqliteStore({ path: join(home, "writ.sqlite"), macKey: keys.macKey });
  try {
    const settings = await loadHubSettings({ home, flags: {}, env: { WRIT_AUDIT_COLD_DAYS: "30" } });
    const deps = {
      store,
      keys,
      clock,
      failures: silentFailures,
      feed: new EventFeed(store, clock),
      home,
      settings,
    };
    await moveCold({ ...deps, auditDir: join(home, "audit") }, new AbortController().signal);
  } finally {
    await store.close();
  }
  expect(await listColdDays(join(home, "audit"))).toEqual([recent]);
}

/**
 * Acts in the moment in which somebody has listed the files and reads the one of this day: it is a pipe, and opening
 * it for writing ends when the other side has opened it.
 */
async function whileReading(file: { home: string; day: string; bytes: Buffer }, act: () => Promise<void>) {
  const path = coldPath(join(file.home, "audit"), file.day);
  const pipe = await open(path, "w");
  try {
    await act();
    await pipe.writeFile(file.bytes);
  } finally {
    await pipe.close();
  }
}

/** Verifies, and acts before the first file is read. */
async function verifyWhile(home: string, act: () => Promise<void>): Promise<AuditVerdict> {
  const first = { home, day: "0001-01-01", bytes: gzipSync("") };
  execFileSync("mkfifo", [coldPath(join(home, "audit"), first.day)]);
  const verdict = verifyAudit({ home, env: {} });
  await Promise.all([whileReading(first, act), verdict]);
  return verdict;
}

function takeAway(home: string, days: string[]): void {
  for (const one of days) rmSync(coldPath(join(home, "audit"), one));
}

type Line = { seq: number; prev_hash: string };

function linesOf(home: string, ofDay: string): Line[] {
  const text = gunzipSync(readFileSync(coldPath(join(home, "audit"), ofDay))).toString();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

describe("a file that disappears while the audit trail is verified", () => {
  test("is missed when the hub has signed no new start", async () => {
    const home = scratch(late);
    const { faults } = await verifyWhile(home, async () => takeAway(home, [ancient, old]));
    expect(faults).toEqual([{ seq: 1, what: expect.stringMatching(/^was removed, and so were all up to/) }]);
  });

  test("is missed when somebody else has signed one", async () => {
    const home = scratch(late);
    const [{ seq, prev_hash: hash }] = linesOf(home, recent) as [Line];
    const { faults } = await verifyWhile(home, async () => {
      takeAway(home, [ancient, old]);
      const forged = signMark(generateSigningKey().signingKey, {
        audit: "start",
        seq,
        hash,
        ts: noonClock().nowMs(),
      });
      appendFileSync(marksPath(home), `${JSON.stringify(forged)}\n`);
    });
    expect(faults).toEqual([{ seq: 1, what: expect.stringMatching(/^was removed/) }]);
  });

  test("is missed when it lies above the start that the hub has signed", async () => {
    const home = scratch(late);
    const { seq } = linesOf(home, recent)[0]!;
    const { faults } = await verifyWhile(home, async () => {
      await forget(home);
      takeAway(home, [recent]);
    });
    expect(faults).toEqual([{ seq, what: expect.stringMatching(/^was removed/) }]);
  });

  test("and was too old is no fault, and the trail begins after it", async () => {
    const home = scratch(late);
    const verdict = await verifyWhile(home, () => forget(home));
    expect(verdict.faults).toEqual([]);
    expect(verdict).toEqual(await verifyAudit({ home, env: {} }));
    expect(verdict.first).toBe(linesOf(home, recent)[0]!.seq);
  });

  test("and was too old is no fault either when the one before it has been read", async () => {
    const home = scratch(late);
    const path = coldPath(join(home, "audit"), ancient);
    const bytes = readFileSync(path);
    rmSync(path);
    execFileSync("mkfifo", [path]);
    const verdict = verifyAudit({ home, env: {} });
    await Promise.all([whileReading({ home, day: ancient, bytes }, () => forget(home)), verdict]);
    expect(await verdict).toEqual(await verifyAudit({ home, env: {} }));
    expect((await verdict).faults).toEqual([]);
  });

  test("and was too old is no fault when what follows has only now left the table", async () => {
    const home = scratch(early);
    const verdict = await verifyWhile(home, () => forget(home));
    expect(verdict.faults).toEqual([]);
    expect(verdict.first).toBe(linesOf(home, recent)[0]!.seq);
  });

  test("hides nothing that is wrong after it", async () => {
    const home = scratch(late);
    const path = coldPath(join(home, "audit"), recent);
    const text = gunzipSync(readFileSync(path)).toString();
    writeFileSync(path, gzipSync(text.replace('"owner_id":"root"', '"owner_id":"eve"')));
    const { faults } = await verifyWhile(home, () => forget(home));
    expect(faults).toEqual([{ seq: expect.any(Number), what: "was changed after it was sealed" }]);
  });
});

test("a search goes on when a file disappears under it", async () => {
  const home = scratch(late);
  const hub = await startTestHub({}, { home, clock: noonClock() });
  onTestFinished(() => hub.stop({ keepHome: true }));
  const path = coldPath(join(home, "audit"), recent);
  const bytes = readFileSync(path);
  rmSync(path);
  execFileSync("mkfifo", [path]);
  const answer = hub.must("GET", "/audit?limit=1000&event=JOB_CREATED", { token: hub.admin });
  await Promise.all([
    whileReading({ home, day: recent, bytes }, async () => takeAway(home, [ancient, old])),
    answer,
  ]);
  const found = (await answer).json<{ timestamp: string }[]>();
  expect(found.map(({ timestamp }) => timestamp.slice(0, 10))).toEqual([day(0), recent]);
});
