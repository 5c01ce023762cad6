import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { Worker } from "../../src/worker/index.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { startTestWorker } from "../support/worker.ts";

let hub: TestHub;
let writ: Writ;
beforeAll(async () => {
  hub = await startTestHub({
    WRIT_LEASE_MS: "5000",
    WRIT_REAPER_INTERVAL_MS: "200",
    WRIT_BACKOFF_SCALE: "0",
  });
  writ = new Writ({ url: hub.url, token: hub.admin });
});
afterAll(async () => {
  writ.close();
  await hub.stop();
});

function freshDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-dying-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Starts a program beside this file, with these facts. */
function startProgram(name: string, facts: object): ChildProcess {
  const args = [join(import.meta.dirname, name), JSON.stringify(facts)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** A worker that is killed when a process of it has ended, and before the hub hears of that. */
function startDyingWorker(type: string): ChildProcess {
  const place = { url: hub.url, home: hub.home, admin: hub.admin };
  return startProgram("dying-worker.ts", { place, type, home: freshDir() });
}

test("a worker that is killed between the end of a process and its report costs an attempt, and the output is there once", async () => {
  const type = freshName("unreported");
  const marks = join(freshDir(), "ran");
  const script = `echo attempt $JOB_ATTEMPT | tee -a ${marks}`;
  const dying = startDyingWorker(type);
  const dead = once(dying, "exit");
  const { id } = await writ.submit({ type, run: { kind: "exec", argv: ["sh", "-c", script] } });
  expect(await dead).toEqual([null, "SIGKILL"]);
  expect(readFileSync(marks, "utf8")).toBe("attempt 1\n");
  expect(await writ.get(id)).toMatchObject({ attempt: 1, result: null });

  const worker = await startTestWorker(hub, { types: [type] });
  onTestFinished(() => worker.stop());
  const job = await writ.wait(id, { timeoutMs: 120_000 });
  expect(job).toMatchObject({ status: "completed", attempt: 2, attempts: 2 });
  expect(job.fail_history).toMatchObject([{ attempt: 1, code: "WORKER_DISCONNECTED" }]);
  expect(readFileSync(marks, "utf8")).toBe("attempt 1\nattempt 2\n");
  const parts = await Array.fromAsync(writ.streamOutput(id, { follow: false }));
  expect(Buffer.concat(parts).toString()).toBe("attempt 2\n");
});

test("O-48 jobs that a killed worker had claimed ahead run once each and are not charged, and one that is allowed one attempt does not run", async () => {
  const type = freshName("ahead");
  const marks = join(freshDir(), "ran");
  const place = { url: hub.url, token: hub.admin };
  const dying = startProgram("dying-functions.ts", { ...place, type, home: freshDir(), marks });
  const dead = once(dying, "exit");
  const job = (params: object, more: object = {}) => ({
    type,
    run: { kind: "handler" as const, params },
    ...more,
  });
  // A worker whose jobs were over in no time claims more than it can run.
  const quick = await writ.submitBatch(Array.from({ length: 50 }, () => job({ is_quick: true })));
  for (const { id } of quick) await writ.wait(id, { timeoutMs: 120_000 });
  const single = randomUUID();
  const { id: deadly } = await writ.submit(job({ dies_holding: single }));
  await expect.poll(() => existsSync(marks)).toBe(true);
  const held = await writ.submitBatch([job({}, { job_id: single, max_attempts: 1 }), job({}), job({})]);
  expect(await dead).toEqual([null, "SIGKILL"]);
  expect(readFileSync(marks, "utf8")).toBe(`${deadly} 1\n`);
  expect(await writ.get(single)).toMatchObject({ attempt: 1, started_at: null });
  const others = held.slice(1).map(({ id }) => id);
  // How far ahead it claims depends on how fast it was.
  const attempts = await Promise.all(others.map(async (id) => (await writ.get(id)).attempt + 1));

  const worker = new Worker({ ...place, workerId: freshName("next"), dataDir: freshDir(), concurrency: 1 });
  worker.handle(type, ({ id, attempt }) => appendFileSync(marks, `${id} ${attempt}\n`));
  await worker.start();
  onTestFinished(() => worker.stop());
  const ends = await Promise.all(
    [deadly, single, ...others].map((id) => writ.wait(id, { timeoutMs: 120_000 })),
  );
  expect(ends).toMatchObject([
    // Charged only if its start was announced before it died.
    { status: "completed", attempt: 2 },
    // It cannot be known that its only attempt had not begun.
    { status: "failed", attempt: 1, fail_code: "WORKER_DISCONNECTED" },
    ...attempts.map((attempt) => ({ status: "completed", attempt, attempts: 1, fail_history: [] })),
  ]);
  const ran = readFileSync(marks, "utf8").trim().split("\n");
  const ranOnce = others.map((id, index) => `${id} ${attempts[index]}`);
  expect(ran.sort()).toEqual([`${deadly} 1`, `${deadly} 2`, ...ranOnce].sort());
});
