import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { WhyView } from "../../src/contract/why-view.ts";
import { silentLogger } from "../../src/runtime/log/logger.ts";
import { Worker, type WorkerOptions } from "../../src/worker/index.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, jobReader, submitJob } from "../support/jobs.ts";
import { removeHome } from "../support/remove-home.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);

test("a program that registers functions is given no commands, not even of its own types", async () => {
  const [workerId, type] = [freshName("sdk"), freshName("double")];
  const home = mkdtempSync(join(tmpdir(), "writ-sdk-"));
  const worker = new Worker({ url: hub.url, token: hub.admin, workerId, dataDir: home });
  await worker.handle(type, ({ params }) => 2 * (params as number)).start();
  try {
    const command = await submitJob(hub, { type, priority: 10 });
    const call = await submitJob(hub, { type, run: { kind: "handler", params: 21 } });
    const done = await eventually("the function is called", async () => {
      const job = await jobReader(hub)(call.id);
      return job.status === "completed" && job;
    });
    expect(done.result).toBe(42);
    expect((await jobReader(hub)(command.id)).status).toBe("pending");
    const { workers } = (
      await hub.must("GET", `/jobs/${command.id}/why`, { token: hub.admin })
    ).json<WhyView>();
    expect(workers).toContainEqual({ worker_id: workerId, fits: false, why: ["does not run exec jobs"] });
  } finally {
    await worker.stop();
    removeHome(home);
  }
});

function freshHome(): string {
  const home = mkdtempSync(join(tmpdir(), "writ-sdk-"));
  onTestFinished(() => removeHome(home));
  return home;
}

async function startWorker(options: Partial<WorkerOptions>, type: string, run: () => unknown) {
  const worker = new Worker({ url: hub.url, token: hub.admin, logger: silentLogger, ...options });
  worker.handle(type, run);
  await worker.start();
  onTestFinished(() => worker.stop());
  return worker;
}

test("a function that ends at once leaves a job with the time of its start", async () => {
  const type = freshName("short");
  await startWorker({ workerId: freshName("sdk"), dataDir: freshHome() }, type, () => 1);
  const { id } = await submitJob(hub, { type, run: { kind: "handler" } });
  const job = await eventually("it has ended", async () => {
    const seen = await jobReader(hub)(id);
    return seen.status === "completed" && seen;
  });
  expect(job.started_at).toBeGreaterThanOrEqual(job.created_at);
  expect(job.started_at).toBeLessThanOrEqual(job.completed_at!);
});

test("a second worker with the same id and a home of its own is refused with the advice to use another id", async () => {
  const [workerId, type] = [freshName("sdk"), freshName("same")];
  await startWorker({ workerId, dataDir: freshHome() }, type, () => 1);
  const again = startWorker({ workerId, dataDir: freshHome() }, type, () => 1);
  await expect(again).rejects.toMatchObject({
    code: "WORKER_KEY_CONFLICT",
    message: expect.stringContaining("choose another id"),
  });
  await startWorker({ workerId: `${workerId}-2`, dataDir: freshHome() }, type, () => 1);
});

test("a process whose worker id was taken by another one finishes its job and stops with the reason", async () => {
  const [workerId, slow, quick] = [freshName("sdk"), freshName("slow"), freshName("quick")];
  const homes = [freshHome(), freshHome()] as const;
  const { promise: isEnough, resolve: finish } = Promise.withResolvers<void>();
  const { promise: stopped, resolve: onStopped } = Promise.withResolvers<unknown>();
  const onError = (facts: unknown) => onStopped((facts as { err: unknown }).err);
  const logger = { ...silentLogger, error: onError };
  const first = { workerId, dataDir: homes[0], logger, concurrency: 2 };
  await startWorker(first, slow, () => isEnough.then(() => "done"));
  const held = await submitJob(hub, { type: slow, run: { kind: "handler" } });
  const read = jobReader(hub);
  await eventually("the first process runs it", async () => (await read(held.id)).status === "running");
  // As with a folder that was copied to another machine: the same key, and a lock that does not reach there.
  cpSync(join(homes[0], "worker", "worker.key"), join(homes[1], "worker", "worker.key"), { recursive: true });
  await startWorker({ workerId, dataDir: homes[1] }, quick, () => "quick");
  const other = await submitJob(hub, { type: quick, run: { kind: "handler" } });
  await eventually("the second process works", async () => (await read(other.id)).status === "completed");
  finish();
  expect(await stopped).toMatchObject({ code: "WORKER_REPLACED" });
  expect(await read(held.id)).toMatchObject({ status: "completed", result: "done", attempts: 1 });
  const last = await submitJob(hub, { type: quick, run: { kind: "handler" } });
  await eventually("the second still works", async () => (await read(last.id)).status === "completed");
});
