import { isMainThread } from "node:worker_threads";

// What becomes the bundle of the old worker: `writ worker --config FILE --home DIR` as it was, and a function of its own
// for jobs of type `old.double`. Imports are those of the old sources (see make-fixtures.mjs).
if (isMainThread) void runWorker(process.argv[2], process.argv[3]);
else void import("./src/worker/heartbeat-thread.ts");

async function runWorker(configFile, home) {
  const { loadWorkerSettings, startWorker } = await import("./src/worker/start.ts");
  const { openLogger } = await import("./src/runtime/logger.ts");
  const settings = await loadWorkerSettings({ configFile, env: process.env, home, hostName: "old" });
  const logger = openLogger({ file: `${home}/worker.log`, level: "info" });
  const handlers = new Map([["old.double", ({ params }) => params.number * 2]]);
  const worker = await startWorker({ settings, home, version: "0.1.0", logger, handlers });
  process.once("SIGTERM", () => worker.stop());
  await worker.done;
  logger.close();
}
