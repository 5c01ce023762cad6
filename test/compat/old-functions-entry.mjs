import { Worker } from "./src/worker/index.ts";

// A worker of the old sources (see make-home.mjs), whose jobs are functions.
// The first versions call the address `hub` and the folder `home`.
const worker = new Worker({
  url: process.env.HUB,
  hub: process.env.HUB,
  token: process.env.TOKEN,
  workerId: "functions",
  dataDir: "functions-data",
  home: "functions-data",
});
worker.handle("old.double", ({ params }) => params.number * 2);
process.once("SIGTERM", () => void worker.stop());
await worker.start();
