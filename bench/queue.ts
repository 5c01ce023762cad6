import { Writ } from "../src/client/index.ts";
import { Worker } from "../src/worker/index.ts";
import { type Calls, type ClaimedJob, connect } from "./_calls.ts";
import { withCpu } from "./_cpu.ts";
import { figure, perSecond } from "./_figures.ts";
import type { BenchHub } from "./_hub.ts";
import { readOptions } from "./_options.ts";
import { startStoredHub } from "./peers/hubs.ts";
import { compareQueues } from "./peers/queue.ts";

/**
 * How fast the queue is through HTTP: enqueue, claim and complete, singly and in batches of 100, and drained by
 * the SDK's worker with verified signatures. Every accepted job is on disk before the answer (synchronous FULL).
 * Beside the SDK's figures stands the CPU time of each job, which other work on the machine changes least.
 * Usage: npm run bench -- queue [jobs]
 *
 * With --peers it is measured beside BullMQ, pg-boss and graphile-worker instead, in turns:
 * npm run bench -- queue --peers [--rounds N] [--jobs N] [--figures enqueue,bulk,drain,posts] [--rivals writ,bullmq,...]
 *   [--json] [--save]
 * With --store postgres the hub keeps its jobs in PostgreSQL. With --peers, pg-boss and graphile-worker use the same server.
 * Why: ADR 0058, ADR 0064.
 */
const options = readOptions();
const jobs = Number(options.positionals[0] ?? 10_000);
const batchJobs = 100;
const producers = 16;
const workerId = "bench";
const job = { type: "noop", params: { text: "x".repeat(200) } };

if (options.peers) await compareQueues(options);
else await measureAlone();

async function measureAlone(): Promise<void> {
  const hub = await startStoredHub(options.store);
  const calls = connect(hub);
  try {
    await calls.register({ worker_id: workerId, cores: 2, ram_gb: 4, tags: [], types: ["noop"] });
    await singly(calls);
    await inBatches(calls);
    await throughSdk(hub);
  } finally {
    calls.close();
    await hub.stop();
  }
}

async function singly(calls: Calls): Promise<void> {
  const one = async () => {
    await calls.submit(job);
    return 1;
  };
  figure("enqueue singly, 1 producer", await perSecond(jobs / 10, 1, one), "jobs/s");
  figure(`enqueue singly, ${producers} producers`, await perSecond(jobs, producers, one), "jobs/s");

  const claimed: ClaimedJob[] = [];
  const claim = async () => {
    const got = await calls.claim(workerId);
    if (got !== null) claimed.push(got);
    return got === null ? 0 : 1;
  };
  // A worker may claim 2,000 times a second; singly claiming workers are many in the field and one here.
  figure(
    `claim singly, ${producers} under way`,
    await perSecond(Math.min(jobs, 1_500), producers, claim),
    "jobs/s",
  );
  const finish = async (index: number) => {
    await calls.finish(claimed[index]!, workerId);
    return 1;
  };
  figure(
    `complete singly, ${producers} under way`,
    await perSecond(claimed.length, producers, finish),
    "jobs/s",
  );
  await drain(calls);
}

async function inBatches(calls: Calls): Promise<void> {
  const enqueue = async () => (await calls.submitBatch(Array(batchJobs).fill(job)))!.jobs.length;
  figure(`enqueue in batches of ${batchJobs}`, await perSecond(jobs / batchJobs, 4, enqueue), "jobs/s");
  const { claimPerSecond, finishPerSecond } = await drain(calls);
  figure(`claim in batches of ${batchJobs}`, claimPerSecond, "jobs/s");
  figure(`complete in batches of ${batchJobs}`, finishPerSecond, "jobs/s");
}

/** Claims everything that is left, then completes it. */
async function drain(calls: Calls): Promise<{ claimPerSecond: number; finishPerSecond: number }> {
  const batches: object[][] = [];
  let isEmpty = false;
  const claim = async () => {
    const got = isEmpty ? null : await calls.claimBatch(workerId, batchJobs);
    if (got === null) isEmpty = true;
    const items = (got?.jobs ?? []).map(({ id, lease }) => {
      const { attempt, token } = JSON.parse(lease);
      return { job_id: id, attempt, token, result: null };
    });
    if (items.length > 0) batches.push(items);
    return items.length;
  };
  const claimPerSecond = await perSecond((jobs * 2) / batchJobs, 2, claim);
  const finish = async (index: number) => {
    await calls.finishBatch(workerId, batches[index]!);
    return batches[index]!.length;
  };
  return { claimPerSecond, finishPerSecond: await perSecond(batches.length, 2, finish) };
}

async function throughSdk(hub: BenchHub): Promise<void> {
  const writ = new Writ({ url: hub.url, token: hub.token });
  const submit = async () => {
    await writ.submit(job);
    return 1;
  };
  const { value, cpu } = await withCpu(hub, jobs, () => perSecond(jobs, producers, submit));
  figure(`enqueue through the SDK, ${producers} producers`, value, "jobs/s", cpu);
  for (const concurrency of [10, 50]) {
    await fill(writ);
    const { value, cpu } = await withCpu(hub, jobs, () => drained(hub, concurrency));
    figure(`drain by the SDK's worker, concurrency ${concurrency}`, value, "jobs/s", cpu);
  }
  writ.close();
}

async function fill(writ: Writ): Promise<void> {
  for (let filled = 0; filled < jobs; filled += 1000) await writ.submitBatch(Array(1000).fill(job));
}

async function drained(hub: BenchHub, concurrency: number): Promise<number> {
  let done = 0;
  let finish = () => {};
  const all = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const worker = new Worker({ url: hub.url, token: hub.token, workerId: `sdk-${concurrency}`, concurrency });
  worker.handle("noop", async () => {
    if (++done === jobs) finish();
    return null;
  });
  const startedAt = performance.now();
  await worker.start();
  await all;
  const seconds = (performance.now() - startedAt) / 1000;
  await worker.stop();
  return jobs / seconds;
}
