import { connect } from "./_calls.ts";
import { figure, quantile } from "./_figures.ts";
import { readOptions } from "./_options.ts";
import { startStoredHub } from "./peers/hubs.ts";

/**
 * Whether jobs that a worker cannot run cost it anything: the time of one claim with 1,000 such jobs pending, and
 * with a million. Usage: npm run bench -- claim-latency [many] [--store postgres]
 */
const few = 1_000;
const options = readOptions();
const many = Number(options.positionals[0] ?? 1_000_000);
const claims = 300;
const workerId = "bench";

const hub = await startStoredHub(options.store);
const calls = connect(hub);
try {
  await calls.register({ worker_id: workerId, cores: 2, ram_gb: 4, tags: [], types: ["mine"] });
  await fill(few);
  const before = await claimMs();
  await fill(many - few);
  const after = await claimMs();
  figure(`claim p50 with ${few} jobs of other types`, before.p50, "ms");
  figure(`claim p50 with ${many} jobs of other types`, after.p50, "ms");
  figure("claim p50, many ÷ few", after.p50 / before.p50, "ratio");
  figure("claim p99, many ÷ few", after.p99 / before.p99, "ratio");
} finally {
  calls.close();
  await hub.stop();
}

async function fill(count: number): Promise<void> {
  for (let filled = 0; filled < count; filled += 1000) {
    await calls.submitBatch(Array.from({ length: 1000 }, (_, n) => ({ type: `other-${n % 50}` })));
    if (filled % 100_000 === 0 && filled > 0) console.error(`${filled} of ${count} jobs submitted`);
  }
}

async function claimMs(): Promise<{ p50: number; p99: number }> {
  await calls.submitBatch(Array(claims + 50).fill({ type: "mine" }));
  const times: number[] = [];
  for (let n = 0; n < claims + 50; n++) {
    const startedAt = performance.now();
    const job = await calls.claim(workerId);
    // The first ones warm up connections and code.
    if (n >= 50) times.push(performance.now() - startedAt);
    await calls.finish(job!, workerId);
  }
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
