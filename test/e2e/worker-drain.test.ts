import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { WorkerProcess } from "../support/worker-process.ts";

const hub = new HubProcess({ WRIT_BACKOFF_SCALE: "0", WRIT_LOG_LEVEL: "warn" });
let writ: Writ;
let worker: WorkerProcess;

beforeAll(async () => {
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
});
afterAll(async () => {
  writ.close();
  await hub.remove();
});
afterEach(() => worker.remove());

/** A job that has said something: one that counts as running may not have come to its own first line. */
async function runningJob(script: string): Promise<string> {
  const argv = ["sh", "-c", script];
  const { id } = await writ.submit({ type: "drain-test", run: { kind: "exec", argv } });
  await eventually("the job runs", async () => (await writ.get(id)).output.stdout > 0);
  return id;
}

describe("SIGTERM to a worker with a running job", () => {
  it("lets a job end that ends in time", async () => {
    worker = await startWorker({});
    const id = await runningJob("echo begun; sleep 1; echo finished");
    expect(await worker.stop("SIGTERM")).toBe(0);
    expect(await writ.get(id)).toMatchObject({ status: "completed", attempt: 1, attempts: 1 });
  });

  it("gives a job back, and charges no attempt, that does not end in time", async () => {
    worker = await startWorker({ WRIT_DRAIN_MS: "500", WRIT_STOP_GRACE_MS: "500" });
    const id = await runningJob("trap '' TERM; echo begun; sleep 600 & wait; wait");
    expect(await worker.stop("SIGTERM")).toBe(0);
    expect(await writ.get(id)).toMatchObject({ status: "pending", attempt: 1, attempts: 0, worker_id: null });
    expect(await everything(writ.streamOutput(id, { attempt: 1, follow: false }))).toBe("begun\n");
    await writ.cancel(id);
  });

  it("stops at once at the second signal, and the job is given back all the same", async () => {
    worker = await startWorker({ WRIT_DRAIN_MS: "60000", JOB_HEARTBEAT_MS: "100" });
    const id = await runningJob("echo begun; exec sleep 600");
    worker.signal("SIGTERM");
    await eventually("the worker drains", async () => {
      const known = (await writ.workers()).find((one) => one.id === worker.id);
      return known?.status === "draining";
    });
    expect(await worker.stop("SIGTERM")).not.toBe(null);
    await eventually("the job is given back", async () => (await writ.get(id)).status === "pending");
    expect(await writ.get(id)).toMatchObject({ attempts: 0 });
    await writ.cancel(id);
  });
});

let made = 0;

async function startWorker(env: Record<string, string>): Promise<WorkerProcess> {
  const started = new WorkerProcess(hub, `drain-${++made}`, env);
  await started.enrol();
  started.start();
  return started;
}

async function everything(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}
