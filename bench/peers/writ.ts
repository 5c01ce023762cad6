import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writ } from "../../src/client/index.ts";
import { Worker } from "../../src/worker/index.ts";
import { processArgv, processLookMs, processOutputBytes } from "./process-job.ts";
import { paramsOf, type Rival, sleep } from "./rival.ts";

const clearConcurrency = 50;

/** Writ as its users have it: the SDK's client and worker, every signature checked, the whole history kept. */
export async function openWrit({ url, token }: { url: string; token: string }): Promise<Rival> {
  const writ = new Writ({ url, token });
  const dir = mkdtempSync(join(tmpdir(), "writ-bench-worker-"));

  const isEmpty = async () => {
    const queues = await writ.fleet.queues();
    return queues.every(({ pending, active }) => pending === 0 && active === 0);
  };
  const work: Rival["work"] = async (concurrency, onJob) => {
    const workerId = `bench-${randomUUID()}`;
    const worker = new Worker({ url, token, workerId, concurrency, dataDir: join(dir, workerId) });
    worker.handle("noop", async () => {
      onJob();
      return null;
    });
    await worker.start();
    return () => worker.stop();
  };

  return {
    submit: (index) => writ.submit({ type: "noop", params: paramsOf(index) }),
    submitMany: (count) =>
      writ.submitBatch(
        Array.from({ length: count }, (_, index) => ({ type: "noop", params: paramsOf(index) })),
      ),
    work,
    isEmpty,
    // Nothing is ever removed from a hub before its time, so the jobs are run.
    async clear() {
      const stop = await work(clearConcurrency, () => {});
      while (!(await isEmpty())) await sleep(10);
      await stop();
    },
    async runProcesses(jobs) {
      const job = { type: "exec", run: { kind: "exec" as const, argv: processArgv } };
      let last = "";
      for (let sent = 0; sent < jobs; sent += 500) {
        const accepted = await writ.submitBatch(Array(Math.min(500, jobs - sent)).fill(job));
        last = accepted.at(-1)!.id;
      }
      // One call that waits: each look at the queues costs the hub more than a look at Redis costs that.
      await writ.wait(last);
      while (!(await isEmpty())) await sleep(processLookMs);
      const { status, fail_reason: reason, output } = await writ.get(last);
      if (status !== "completed" || output.stdout !== processOutputBytes)
        throw new Error(`job ${last} is ${status}: ${reason}`);
    },
    async close() {
      writ.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
