import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { claimedJob, freshName, jobReader, runningJob, submitJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { runCommand } from "../support/run-command.ts";
import { startTestWorker } from "../support/worker.ts";

const obstacle = mountObstacle();
const tests = {
  "A18: on a full disk a rotation and a start say so, and leave nothing behind": fillHome,
  "a job whose lease could not be renewed because the hub's disk was full keeps its worker": fillWhileLeased,
  "a job that writes and one that is silent survive a full disk of the hub that lasts for several leases":
    fillForLeases,
  "a hub whose disk was full a moment ago stays unhealthy, even if a small write fits again": fillAndAsk,
};

for (const [name, fill] of Object.entries(tests)) {
  if (obstacle === null) test(name, fill);
  else test.skip(`${name} (not capable: ${obstacle})`, fill);
}

async function fillWhileLeased(): Promise<void> {
  const { disk, home } = smallDisk();
  const leaseMs = 600_000;
  const reaperMs = 101;
  const env = { ...stillEnv, WRIT_LEASE_MS: String(leaseMs), WRIT_REAPER_INTERVAL_MS: String(reaperMs) };
  let passedMs = 0;
  // Rounds of the reaper wait until there is room: on a full disk a small write may fit now and then, and a lease that was
  // extended before the time passed would rightly be lost after it.
  const room = Promise.withResolvers<void>();
  const clock = {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + passedMs,
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
    sleep: async (ms: number, signal?: AbortSignal) => {
      if (ms === reaperMs) await room.promise;
      await systemClock.sleep(ms, signal);
    },
  };
  const told: string[] = [];
  const hub = await startTestHub(env, { home, clock, onNotice: (line) => told.push(line) });
  onTestFinished(async () => {
    room.resolve();
    await hub.stop({ keepHome: true });
  });
  const { id, fence } = await claimedJob(hub);
  const { worker_id, ...lease } = fence;
  const body = { worker_id, status: "active", current_jobs: [{ job_id: id, ...lease }] };
  const heartbeat = () => hub.call("POST", "/workers/heartbeat", { token: hub.admin, body });

  fill(join(disk, "fill"));
  await eventually("renewals are refused", async () => (await heartbeat()).code === "STORE_UNAVAILABLE");
  expect(told).toEqual(["the disk of the database is full; calls are refused until there is room"]);
  passedMs = leaseMs + 1_000;
  rmSync(join(disk, "fill"));
  room.resolve();
  // It may come before the worker, and can only give the lease more time then.
  const { id: expiring } = await submitJob(hub, { queue_ttl_sec: 1 });
  const view = jobReader(hub);
  await eventually("the reaper has done a round", async () => (await view(expiring)).status === "failed");
  expect((await heartbeat()).json()).toMatchObject({ lost: [] });
  expect(await view(id)).toMatchObject({ status: "assigned", attempt: 1, fail_history: [] });
}

async function fillForLeases(): Promise<void> {
  const { disk, home } = smallDisk();
  const leaseMs = 600_000;
  // No round of the reaper is needed: the first caller finds the leases as they were.
  const env = { ...stillEnv, WRIT_LEASE_MS: String(leaseMs), WRIT_REAPER_INTERVAL_MS: "60000" };
  let passedMs = 0;
  const clock = {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + passedMs,
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
  };
  const hub = await startTestHub(env, { home, clock });
  onTestFinished(() => hub.stop({ keepHome: true }));
  const types = [freshName("type")];
  const worker = await startTestWorker(hub, { types, env: { JOB_HEARTBEAT_MS: "50" } });
  onTestFinished(() => worker.stop());
  const run = async (name: string, script: string) => {
    const go = join(worker.home, name);
    const argv = ["/bin/sh", "-c", `echo ready; until [ -e ${go} ]; do sleep 0.05; done; ${script}`];
    const { id } = await submitJob(hub, { type: types[0], run: { kind: "exec", argv }, max_attempts: 1 });
    await eventually(`${name} runs`, async () => (await output(id)).includes("ready"));
    return { id, goOn: () => writeFileSync(go, "") };
  };
  const view = jobReader(hub);
  const output = async (id: string) =>
    (await hub.call("GET", `/jobs/${id}/output/stdout`, { token: hub.admin })).text;
  const writing = await run("writing", "head -c 100000 /dev/zero | tr '\\0' c");
  const silent = await run("silent", "true");
  const byHand = await runningJob(hub);
  const renew = () => hub.call("POST", `/jobs/${byHand.id}/start`, { token: hub.admin, body: byHand.fence });
  const written = `ready\n${"c".repeat(100_000)}`;

  fill(join(disk, "fill"));
  await eventually("renewals are refused", async () => (await renew()).code === "STORE_UNAVAILABLE");
  passedMs = 3 * leaseMs;
  writing.goOn();
  const copy = join(worker.home, "work", "jobs", writing.id, "1", "stdout.log");
  await eventually("it has written", () => statSync(copy).size === written.length);
  const bytes = Buffer.alloc(100_000);
  // A small write may fit now and then, but no worker is told that a lease is lost.
  expect([200, 503]).toContain((await appendOutput(hub, byHand, { bytes })).status);
  const end = () =>
    hub.call("POST", `/jobs/${byHand.id}/result`, {
      token: hub.admin,
      body: { ...byHand.fence, result: "x".repeat(100_000) },
    });
  expect([200, 503]).toContain((await end()).status);

  rmSync(join(disk, "fill"));
  expect((await end()).status).toBe(200);
  silent.goOn();
  for (const { id } of [writing, silent]) {
    const status = await eventually("it has ended", async () => {
      const job = await view(id);
      return job.status !== "running" && job;
    });
    expect(status).toMatchObject({ status: "completed", attempt: 1, fail_history: [] });
  }
  expect(await output(writing.id)).toBe(written);
}

async function fillAndAsk(): Promise<void> {
  const { disk, home } = smallDisk();
  // Time stands still, so that it does not matter how long this test takes. In whole milliseconds: a sum of fractions is rounded.
  const [nowMs, monotonicMs] = [systemClock.nowMs(), Math.ceil(systemClock.monotonicMs())];
  let passedMs = 0;
  const clock = {
    ...systemClock,
    nowMs: () => nowMs + passedMs,
    monotonicMs: () => monotonicMs + passedMs,
  };
  const hub = await startTestHub(stillEnv, { home, clock });
  onTestFinished(() => hub.stop({ keepHome: true }));
  const health = () => hub.call("GET", "//healthz");
  expect((await health()).status).toBe(200);

  fill(join(disk, "fill"));
  const submit = () =>
    hub.call("POST", "/jobs", { token: hub.admin, body: { type: "some", params: "x".repeat(200_000) } });
  await eventually("submissions are refused", async () => (await submit()).code === "STORE_UNAVAILABLE");
  rmSync(join(disk, "fill"));
  expect((await submit()).status).toBe(201);
  expect(await health()).toMatchObject({ status: 503, text: expect.stringContaining("is full") });
  passedMs = 30_000;
  expect((await health()).status).toBe(200);
}

function smallDisk(): { disk: string; home: string } {
  const disk = mkdtempSync(join(tmpdir(), "writ-full-home-"));
  const home = join(disk, "home");
  mount(disk, "size=48m,mode=0700");
  onTestFinished(() => {
    execFileSync("umount", ["-l", disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  mkdirSync(home, { mode: 0o700 });
  return { disk, home };
}

async function fillHome(): Promise<void> {
  const { disk, home } = smallDisk();
  const keys = join(home, "keys");
  const hub = await startTestHub(stillEnv, { home });
  const before = readdirSync(keys);

  fill(join(disk, "fill"));
  const rotation = () => hub.call("POST", "/keys/rotate", { token: hub.admin, body: {} });
  expect(await rotation()).toMatchObject({
    status: 503,
    code: "STORE_UNAVAILABLE",
    text: expect.stringContaining("the disk is full"),
  });
  expect(readdirSync(keys).sort()).toEqual(before.sort());
  rmSync(join(disk, "fill"));
  expect((await rotation()).status).toBe(200);
  await hub.stop({ keepHome: true });

  fill(join(disk, "fill"));
  for (const where of [home, join(disk, "new")]) {
    const started = await runCommand("writ", ["hub", "--port", "0", "--grpc-port", "0"], { home: where });
    expect(started).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("disk") });
    expect(started.stderr).toMatch(/full/);
    expect(started.stderr).not.toMatch(/already running|ENOSPC:/);
  }
  const left = readdirSync(disk, { recursive: true, encoding: "utf8" });
  expect(left.filter((path) => /\.tmp$/.test(path))).toEqual([]);
}

/** To the last byte: first in large pieces, then in small ones. */
function fill(path: string): void {
  const file = openSync(path, "w");
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size));
    } catch {
      // Full for this size.
    }
  }
  closeSync(file);
}

function mount(dir: string, options: string): void {
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "writ-test", dir], { stdio: "pipe" });
}

/** A small disk of one's own takes root, and a container may forbid it even then. */
function mountObstacle(): string | null {
  const dir = mkdtempSync(join(tmpdir(), "writ-full-home-"));
  try {
    mount(dir, "size=1m");
    execFileSync("umount", [dir]);
    return null;
  } catch {
    return "no tmpfs can be mounted";
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
