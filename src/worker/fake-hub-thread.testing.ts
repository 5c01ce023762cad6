import { parentPort, workerData } from "node:worker_threads";
import { FakeHub, testJob, testJobId } from "./fake-hub.testing.ts";
import { type HubThreadData, hubCells } from "./threaded-hub.testing.ts";

/** The thread of a ThreadedHub. */
const { jobs, waiting, memory } = workerData as HubThreadData;
const cells = new Int32Array(memory);
const waitingId = testJobId(waiting);
const hub = new FakeHub();
let isOpen = false;
hub.intercept = ({ path, body }) => {
  if (path !== "/workers/heartbeat") return undefined;
  if (!isOpen) open();
  if (!JSON.stringify(body).includes(waitingId)) return undefined;
  hub.lost = Atomics.load(cells, hubCells.isLost) === 1 ? [waitingId] : [];
  count(hubCells.beats);
  return undefined;
};
await hub.start();
parentPort!.postMessage({ url: hub.url, publicKeyPem: hub.key.publicKeyPem });

/** Called when the worker's heartbeat has begun, so that none of its jobs waits for it. */
function open(): void {
  isOpen = true;
  hub.queue = jobs.map((number) => testJob(number, { kind: "handler" }, { document: { type: "work" } }));
  hub.command("work");
}

function count(cell: number): void {
  Atomics.add(cells, cell, 1);
  Atomics.notify(cells, cell);
}
