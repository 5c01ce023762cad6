import { loadPg, loadPgBoss } from "./modules.ts";
import { paramsOf, type Rival } from "./rival.ts";

const queue = "noop";
/** As many connections as there are producers, so that no producer waits for one. */
const connections = 20;
/** pg-boss drains fastest like this: few workers, large batches, and the next one at once after a full one. */
const drain = { localConcurrency: 10, batchSize: 200, burstWhenBatchFull: true };

export async function openPgBoss({ port }: { port: number }): Promise<Rival> {
  const { PgBoss } = await loadPgBoss();
  const place = { host: "127.0.0.1", port, user: "bench", database: "postgres", max: connections };
  const boss = new PgBoss({ ...place, useListenNotify: true });
  boss.on("error", (error) => console.error(`bench: pg-boss: ${error.message}`));
  await boss.start();
  await boss.createQueue(queue, { notify: true });
  const pool = new (await loadPg()).Pool({ ...place, max: 1 });

  return {
    submit: (index) => boss.send(queue, paramsOf(index)),
    submitMany: (count) =>
      boss.insert(
        queue,
        Array.from({ length: count }, (_, index) => ({ data: paramsOf(index) })),
      ),
    async work(concurrency, onJob) {
      // Fifty at once stands for a drain; with fewer the pick-up is measured, where batches would not help.
      const options = concurrency >= 50 ? drain : { localConcurrency: 1, batchSize: 1 };
      await boss.work(queue, { ...options, pollingIntervalSeconds: 0.5 }, async (jobs) => {
        for (const _ of jobs) onJob();
      });
      return () => boss.offWork(queue, { wait: true });
    },
    async isEmpty() {
      const { rows } = await pool.query(
        `SELECT 1 FROM pgboss.job WHERE name = '${queue}' AND state < 'completed' LIMIT 1`,
      );
      return rows.length === 0;
    },
    async clear() {
      await boss.deleteAllJobs(queue);
    },
    async close() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
}
