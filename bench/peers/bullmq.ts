import { spawn } from "node:child_process";
import { type BullQueue, loadBullMq } from "./modules.ts";
import { outputOf, processArgv, processLookMs } from "./process-job.ts";
import { paramsOf, type Rival, sleep } from "./rival.ts";

/** BullMQ with its own defaults: a finished job is kept. */
export async function openBullMq({ port }: { port: number }, cage: readonly string[] = []): Promise<Rival> {
  const { Queue, Worker } = await loadBullMq();
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const queue = new Queue("noop", { connection });
  await queue.waitUntilReady();
  const processes = new Queue("processes", { connection });
  await processes.waitUntilReady();

  return {
    submit: (index) => queue.add("noop", paramsOf(index)),
    submitMany: (count) =>
      queue.addBulk(Array.from({ length: count }, (_, index) => ({ name: "noop", data: paramsOf(index) }))),
    async work(concurrency, onJob) {
      const handler = async () => {
        onJob();
        return null;
      };
      const worker = new Worker("noop", handler, { connection, concurrency });
      await worker.waitUntilReady();
      return () => worker.close();
    },
    isEmpty: () => isEmpty(queue),
    clear: () => queue.obliterate({ force: true }),
    async runProcesses(jobs, inFlight) {
      await processes.addBulk(
        Array.from({ length: jobs }, () => ({ name: "echo", data: { argv: processArgv } })),
      );
      const handler = async ({ data }: { data: unknown }) =>
        outputOf(spawnCaged(cage, (data as { argv: string[] }).argv));
      const worker = new Worker("processes", handler, { connection, concurrency: inFlight });
      while (!(await isEmpty(processes))) await sleep(processLookMs);
      await worker.close();
      const { completed, failed } = await processes.getJobCounts("completed", "failed");
      if (completed !== jobs) throw new Error(`of ${jobs} processes ${failed} failed`);
      await processes.obliterate({ force: true });
    },
    async close() {
      await queue.close();
      await processes.close();
    },
  };
}

/** What bubblewrap needs for a cage like Writ's: namespaces of its own, a root it cannot write, its own /proc and /tmp. */
export const bubblewrap = [
  "bwrap",
  "--unshare-all",
  "--die-with-parent",
  "--ro-bind",
  "/",
  "/",
  "--proc",
  "/proc",
  "--dev",
  "/dev",
  "--tmpfs",
  "/tmp",
  "--",
];

function spawnCaged(cage: readonly string[], argv: readonly string[]) {
  const [program, ...args] = [...cage, ...argv];
  return spawn(program!, args, { stdio: ["ignore", "pipe", "pipe"] });
}

async function isEmpty(queue: BullQueue): Promise<boolean> {
  const counts = await queue.getJobCounts("waiting", "active", "prioritized", "delayed");
  return Object.values(counts).every((count) => count === 0);
}
