import { perSecondFor } from "./_figures.ts";
import { readOptions } from "./_options.ts";
import { isChosen } from "./peers/queue.ts";
import { figuresOfClaims } from "./postgres/claims.ts";
import { type Bench, openStoreBench } from "./postgres/store-bench.ts";

/**
 * The PostgreSQL store without a hub in front of it, on a server of its own: submissions by 16 producers, batches of 1,000,
 * claims and ends in batches of 100, each with the CPU time of a job here and in the database, and the bytes of its log.
 * Then what claims cost when many jobs wait, and while a transaction of somebody else stays open.
 * Why: ADR 0087, ADR 0091.
 * Usage: npm run bench -- postgres-store [--jobs N] [--figures submit,bulk,drain,pending,snapshot]
 */
const options = readOptions();
const jobs = options.jobs ?? 20_000;
const producers = 16;
const bulkJobs = 1_000;
const drainJobs = 100;
const seconds = 3;

const bench = await openStoreBench();
try {
  // The first jobs compile the code, here and in the server.
  await fill(bench, 2_000);
  await drain(bench, 2_000);
  if (isChosen("submit", options.figures)) await submit(bench);
  if (isChosen("bulk", options.figures) || isChosen("drain", options.figures)) {
    await bench.measure(`submit in batches of ${bulkJobs}`, () => fill(bench, jobs));
    await bench.measure(`claim and end in batches of ${drainJobs}`, () => drain(bench, jobs));
    await bench.tellSize();
  }
  await figuresOfClaims(bench, options);
} finally {
  await bench.close();
}

async function submit({ scene, measure }: Bench): Promise<void> {
  await measure(`submit, ${producers} producers`, async () => {
    let sent = 0;
    await perSecondFor(seconds, producers, () => {
      sent++;
      return scene.submit();
    });
    return sent;
  });
  await drain(bench, Number.MAX_SAFE_INTEGER);
}

async function fill({ submitMany }: Bench, count: number): Promise<number> {
  for (let done = 0; done < count; done += bulkJobs) await submitMany(bulkJobs);
  return count;
}

/** Two claims and ends are under way at a time, as a worker does it. */
async function drain({ scene, finish }: Bench, count: number): Promise<number> {
  let done = 0;
  const lane = async () => {
    while (done < count) {
      const { claimed } = await scene.claimUpTo(drainJobs);
      if (claimed.length === 0) return;
      done += claimed.length;
      await finish(claimed);
    }
  };
  await Promise.all([lane(), lane()]);
  return done;
}
