import { loadGraphile, loadPg } from "./modules.ts";
import { paramsOf, type Rival } from "./rival.ts";

const task = "noop";
const connections = 20;
/** Fetches 500 jobs at once and reports those that end within a moment together. */
const batched = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

export async function openGraphile(
  { port }: { port: number },
  mode: "batched" | "unbatched",
): Promise<Rival> {
  const { Logger, makeWorkerUtils, run } = await loadGraphile();
  const { Pool } = await loadPg();
  const place = { host: "127.0.0.1", port, user: "bench", database: "postgres" };
  const pgPool = new Pool({ ...place, max: connections });
  // It warns of a pool without a listener for errors.
  pgPool.on("error", (error) => console.error(`bench: graphile-worker: ${error}`));
  pgPool.on("connect", (client) => client.on("error", () => {}));
  const logger = new Logger(() => () => {});
  // Both modes share a server; each has tables of its own.
  const schema = `graphile_${mode}`;
  const utils = await makeWorkerUtils({ pgPool, schema, logger });
  await utils.migrate();

  return {
    submit: (index) => utils.addJob(task, paramsOf(index)),
    submitMany: (count) =>
      utils.addJobs(
        Array.from({ length: count }, (_, index) => ({ identifier: task, payload: paramsOf(index) })),
      ),
    async work(concurrentJobs, onJob) {
      const taskList = { [task]: async () => onJob() };
      const worker = { schema, concurrentJobs, ...(mode === "batched" ? batched : {}) };
      const preset = { worker };
      const runner = await run({ pgPool, preset, taskList, logger, noHandleSignals: true });
      return () => runner.stop();
    },
    async isEmpty() {
      const { rows } = await pgPool.query(`SELECT 1 FROM ${schema}._private_jobs LIMIT 1`);
      return rows.length === 0;
    },
    async clear() {
      await pgPool.query(`TRUNCATE ${schema}._private_jobs`);
    },
    async close() {
      await utils.release();
      await pgPool.end();
    },
  };
}
