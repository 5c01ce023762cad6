import { Worker } from "./src/worker/index.ts";

// A worker of the old sources (see make-home.mjs), whose jobs are functions.
const address = process.env.HUB;
const common = { token: process.env.TOKEN, workerId: "functions" };
const worker = makeWorker();
worker.handle("old.double", ({ params }) => params.number * 2);
process.once("SIGTERM", () => void worker.stop());
await worker.start();

function makeWorker() {
  try {
    return new Worker({ ...common, url: address, dataDir: "functions-data" });
  } catch {
    // The first versions call the address `hub` and the folder `home`.
    return new Worker({ ...common, hub: address, home: "functions-data" });
  }
}
