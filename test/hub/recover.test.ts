import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import { databaseOf } from "../../src/hub/database/database-place.ts";
import { openStore } from "../../src/hub/database/open-database.ts";
import { startHub } from "../../src/hub/start.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import type { Store } from "../../src/store/store.ts";
import { readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { databaseEnv, databaseUrlOf } from "../support/home-database.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { type HeldJob, runningJob, submitJob } from "../support/jobs.ts";
import { removeHome } from "../support/remove-home.ts";

type Env = Record<string, string>;

const quick = { WRIT_WORKER_INACTIVE_MS: "1000", WRIT_REAPER_INTERVAL_MS: "100" };

test("hub.json of a hub that was killed is gone, also when the next start fails", async () => {
  const { home } = await stoppedHub();
  const busy = createServer();
  await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void busy.close());
  const { port } = busy.address() as { port: number };
  writeFileSync(join(home, "hub.json"), "{}", { mode: 0o600 });
  const flags = { port: String(port), grpcPort: "0" };
  const env = { ...stillEnv, ...(await databaseEnv(home)) };
  await expect(startHub({ home, flags, env, osUser: "root", version: "0.0.0-test" })).rejects.toThrow(
    `cannot listen on 127.0.0.1:${port}`,
  );
  expect(existsSync(join(home, "hub.json"))).toBe(false);
});

test("A18: a key ring that went back while no hub ran is on the record, once", async () => {
  const { home } = await stoppedHub();
  const ring = join(home, "keys", "ring.json");
  const before = readFileSync(ring);
  const keys = openKeyRing(join(home, "keys"), { nowMs: Date.now() });
  keys.rotate({ nowMs: Date.now(), graceMs: 60_000, emergency: false });
  await (await startAgain(home)).stop({ keepHome: true });
  writeFileSync(ring, before, { mode: 0o600 });
  await (await startAgain(home)).stop({ keepHome: true });
  await (await startAgain(home)).stop({ keepHome: true });
  expect(readEvents(home).filter(({ event }) => event === "KEY_REJECTED")).toMatchObject([
    { details: { error: expect.stringContaining("older than the one that this hub has used: version 1") } },
  ]);
});

test("A18: old leftovers of killed programs are removed", async () => {
  const { home } = await stoppedHub();
  const draft = join(dirname(home), `.${basename(home)}.restore-0123456789ab`);
  const old = [
    join(home, ".writ.yaml.0123456789ab.tmp"),
    join(home, "keys", ".ring.json.0123456789ab.tmp"),
    join(home, "certs", "issued", ".x.crt.0123456789ab.tmp"),
    join(home, ".backup-0123456789ab.sqlite"),
    join(draft, "writ.sqlite"),
  ];
  mkdirSync(draft);
  onTestFinished(() => rmSync(draft, { recursive: true, force: true }));
  for (const path of old) writeFileSync(path, "half");
  const yesterday = (Date.now() - 90_000_000) / 1000;
  for (const path of [...old, draft]) utimesSync(path, yesterday, yesterday);
  const young = join(home, ".backup-ba9876543210.sqlite");
  writeFileSync(young, "under way");
  await startAgain(home);
  expect(old.filter(existsSync)).toEqual([]);
  expect(existsSync(draft)).toBe(false);
  expect(existsSync(young)).toBe(true);
});

test("a key that was revoked at once by a hub that died has no leases when the next one answers", async () => {
  const { home, jobId } = await stoppedHub();
  const nowMs = Date.now();
  const keys = openKeyRing(join(home, "keys"), { nowMs });
  const { keyId } = keys.signing;
  keys.rotate({ nowMs, graceMs: 0, emergency: true });
  keys.revoke(keyId, { nowMs, emergency: true });
  const hub = await startAgain(home);
  expect(await jobOf(hub, jobId)).toMatchObject({ status: "pending", attempt: 1, attempts: 0 });
});

test("a lockdown of a hub that died has no leases when the next one answers", async () => {
  const { home, jobId } = await stoppedHub();
  await inStore(home, (store) =>
    store.lockDown({ reason: "test", userId: null, origin: null, nowMs: Date.now() }),
  );
  const hub = await startAgain(home);
  expect(await jobOf(hub, jobId)).toMatchObject({ status: "pending", attempts: 0 });
});

test("B1: a hub that was away for long takes no job from a worker before one lease has passed", async () => {
  const { home, job } = await stoppedHub();
  await letHoursPass(home);
  const hub = await startAgain(home, { WRIT_LEASE_MS: "60000", ...quick, WRIT_WORKER_INACTIVE_MS: "20000" });
  await reaperRound(hub);
  const worker = await workerOf(hub, job.fence.worker_id);
  expect(worker).toMatchObject({ status: "active", current_jobs: 1 });
  const renewal = { token: hub.admin, body: job.fence };
  expect(await hub.call("POST", `/jobs/${job.id}/heartbeat`, renewal)).toMatchObject({ status: 204 });
  expect(await jobOf(hub, job.id)).toMatchObject({ status: "running", attempts: 1, fail_history: [] });
});

test("B1: a worker that has not come back one lease after the ports listen is inactive and loses its job", async () => {
  const { home, job } = await stoppedHub();
  await letHoursPass(home);
  const hub = await startAgain(home, { WRIT_LEASE_MS: "1000", ...quick });
  await eventually("the worker is inactive", async () => {
    return (await workerOf(hub, job.fence.worker_id)).status === "inactive";
  });
  await eventually("the job is lost with its lease", async () => {
    return (await jobOf(hub, job.id)).status === "pending";
  });
  const failures = [{ code: "WORKER_DISCONNECTED", attempt: 1 }];
  expect(await jobOf(hub, job.id)).toMatchObject({ fail_history: failures });
});

test("half a line at the end of the signed heads is gone, and the next head has a line of its own", async () => {
  const { home } = await stoppedHub();
  const heads = join(home, "audit-heads.ndjson");
  appendFileSync(heads, '{"audit":"he');
  const hub = await startAgain(home);
  await runningJob(hub);
  await hub.stop({ keepHome: true });
  const lines = readFileSync(heads, "utf8").trimEnd().split("\n");
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
});

/** The home of a hub that held a job, as it would be if it had been killed. */
async function stoppedHub(): Promise<{ home: string; jobId: string; job: HeldJob }> {
  const hub = await startTestHub(stillEnv);
  onTestFinished(() => removeHome(hub.home));
  const job = await runningJob(hub);
  await hub.stop({ keepHome: true });
  return { home: hub.home, jobId: job.id, job };
}

/** No hub was there for so long: every lease and heartbeat is that much older. */
function letHoursPass(home: string): Promise<unknown> {
  return inStore(home, (store) => store.shiftTimes({ byMs: -7_200_000 }));
}

async function inStore(home: string, act: (store: Store) => Promise<unknown>): Promise<void> {
  const { macKey } = openKeyRing(join(home, "keys"), { nowMs: Date.now() });
  const place = databaseOf(home, { databaseUrl: databaseUrlOf(home), sqlitePath: null });
  const store = await openStore(place, { macKey, term: () => null });
  await act(store);
  await store.close();
}

async function startAgain(home: string, env: Env = {}): Promise<TestHub> {
  const hub = await startTestHub({ ...stillEnv, ...env }, { home });
  onTestFinished(() => hub.stop({ keepHome: true }));
  return hub;
}

/** Resolves when the reaper has done a whole round: it ends a job that may not wait. */
async function reaperRound(hub: TestHub): Promise<void> {
  const { id } = await submitJob(hub, { queue_ttl_sec: 1 });
  await eventually("the reaper has done a round", async () => (await jobOf(hub, id)).status === "failed");
}

async function workerOf(hub: TestHub, workerId: string): Promise<WorkerView> {
  const workers = (await hub.must("GET", "/workers", { token: hub.admin })).json<WorkerView[]>();
  return workers.find(({ id }) => id === workerId)!;
}

async function jobOf(hub: TestHub, jobId: string): Promise<JobView> {
  return (await hub.must("GET", `/jobs/${jobId}`, { token: hub.admin })).json<JobView>();
}
