import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writ } from "../../src/client/index.ts";
import { Worker } from "../../src/worker/index.ts";
import { connect } from "../_calls.ts";
import type { BenchHub } from "../_hub.ts";
import { paramsOf } from "../peers/rival.ts";
import { type Ends, openEnds } from "./read-ends.ts";

export type Workload = {
  name: string;
  /** How many jobs one act has. */
  jobs: number;
  /** Whether an act allocates much more than a look at the counts, and about as much each time. */
  isSteady?: boolean;
  act(): Promise<unknown>;
};

const job = (index: number, type = "kept") => ({ type, params: paramsOf(index) });
const many = (count: number, type?: string) =>
  Array.from({ length: count }, (_, index) => job(100 + index, type));
const bulkJobs = 200;
const drainJobs = 100;
const sdkJobs = 16;
const lookMs = 2;
const endsWithinMs = 60_000;

/** One act after the other, never two at once: what an act costs must not depend on how fast the machine is. */
export async function openWorkloads(
  hub: BenchHub,
): Promise<{ workloads: Workload[]; close(): Promise<void> }> {
  const writ = new Writ({ url: hub.url, token: hub.token });
  const calls = connect(hub);
  const dir = mkdtempSync(join(tmpdir(), "writ-bench-guard-"));
  const worker = new Worker({
    url: hub.url,
    token: hub.token,
    workerId: "guard",
    concurrency: 50,
    dataDir: dir,
  });
  const ends = openEnds(hub.home);
  let onDone = () => {};
  worker.handle("drained", async () => {
    onDone();
    return null;
  });
  await worker.start();

  const drained = async () => {
    const after = ends.last();
    const all = Promise.withResolvers<void>();
    let done = 0;
    onDone = () => {
      if (++done === drainJobs) all.resolve();
    };
    await writ.submitBatch(many(drainJobs, "drained"));
    await all.promise;
    await untilEnded(ends, { after, jobs: drainJobs });
  };
  const executed = async () => {
    const after = ends.last();
    const run = { kind: "exec" as const, argv: ["/bin/echo", "x".repeat(200)] };
    await writ.submit({ type: "exec", run });
    await untilEnded(ends, { after, jobs: 1 });
  };
  const close = async () => {
    ends.close();
    await worker.stop();
    writ.close();
    calls.close();
    rmSync(dir, { recursive: true, force: true });
  };
  const workloads: Workload[] = [
    { name: "single submit", jobs: 1, act: () => calls.submit(job(100)) },
    {
      name: "SDK enqueue",
      jobs: sdkJobs,
      act: () => Promise.all(many(sdkJobs).map((each) => writ.submit(each))),
    },
    { name: "bulk", jobs: bulkJobs, act: () => writ.submitBatch(many(bulkJobs)) },
    { name: "drain by SDK worker", jobs: drainJobs, isSteady: true, act: drained },
    { name: "exec job with output", jobs: 1, act: executed },
  ];
  return { workloads, close };
}

/** Until this many jobs have completed after this event. */
async function untilEnded(ends: Ends, { after, jobs }: { after: number; jobs: number }): Promise<void> {
  const giveUpAt = Date.now() + endsWithinMs;
  while (ends.completedAfter(after) < jobs) {
    if (Date.now() > giveUpAt) throw new Error(`${jobs} jobs did not complete`);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}
