// A worker whose jobs are functions, by the library of any version: node double-worker.mjs LIBRARY; where the hub is, is
// in the environment.
// Version 0.1 has no Final.
const { Worker, Final = Error } = await import(process.argv[2]);
const { HUB_URL, WRIT_TOKEN, DATA_DIR } = process.env;
const worker = new Worker({ url: HUB_URL, token: WRIT_TOKEN, workerId: "functions", dataDir: DATA_DIR });
worker.handle("double", ({ params }) => params.number * 2);
worker.handle("refuse", () => {
  throw new Final("it is no use to try again");
});
process.once("SIGTERM", () => void worker.stop());
await worker.start();
