import pg from "pg";
import { figure, quantile } from "../_figures.ts";
import type { BenchOptions } from "../_options.ts";
import { isChosen } from "../peers/queue.ts";
import type { Bench } from "./store-bench.ts";

const claimMax = 100;
const claimsTimed = 60;
const few = 1_000;
const manyDefault = 1_000_000;
const snapshotJobsDefault = 80_000;

/** What a claim of 100 takes when few and many jobs wait in its queue, and while a snapshot keeps dead rows alive. */
export async function figuresOfClaims(bench: Bench, options: BenchOptions): Promise<void> {
  if (isChosen("snapshot", options.figures)) await underSnapshot(bench, options.jobs ?? snapshotJobsDefault);
  if (isChosen("pending", options.figures)) await withPending(bench, options.jobs ?? manyDefault);
}

async function withPending(bench: Bench, many: number): Promise<void> {
  await fill(bench, few + claimMax * claimsTimed);
  const before = await claimTimes(bench, claimsTimed);
  await fill(bench, many);
  const after = await claimTimes(bench, claimsTimed);
  tell(`claim of ${claimMax} with ${few} pending jobs`, before);
  tell(`claim of ${claimMax} with ${many} pending jobs`, after);
  figure("claim p50, many ÷ few", quantile(after, 0.5) / quantile(before, 0.5), "ratio");
}

/** The snapshot is that of a backup, or of a report that takes long: nothing that died since can be vacuumed. */
async function underSnapshot(bench: Bench, jobs: number): Promise<void> {
  await fill(bench, jobs + claimMax * claimsTimed);
  const before = await claimTimes(bench, claimsTimed);
  const other = new pg.Client(bench.url);
  await other.connect();
  await other.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM writ.log_state");
  const times = await claimTimes(bench, jobs / claimMax);
  await other.query("COMMIT");
  await other.end();
  const last = times.slice(-claimsTimed);
  tell(`claim of ${claimMax} before a snapshot`, before);
  tell(`claim of ${claimMax}, ${jobs} claims into a snapshot`, last);
  figure("claim p50, under a snapshot ÷ before", quantile(last, 0.5) / quantile(before, 0.5), "ratio");
}

async function claimTimes({ scene, finish }: Bench, claims: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < claims; n++) {
    const startedAt = performance.now();
    const { claimed } = await scene.claimUpTo(claimMax);
    times.push(performance.now() - startedAt);
    if (claimed.length < claimMax) throw new Error(`only ${claimed.length} jobs were claimed`);
    await finish(claimed);
  }
  return times;
}

async function fill({ submitMany }: Bench, jobs: number): Promise<void> {
  for (let done = 0; done < jobs; done += 1_000) {
    await submitMany(1_000);
    if (done % 100_000 === 0 && done > 0) console.error(`bench: ${done} of ${jobs} jobs`);
  }
}

function tell(name: string, times: number[]): void {
  figure(name, quantile(times, 0.5), "ms", { p99_ms: Number(quantile(times, 0.99).toFixed(2)) });
}
