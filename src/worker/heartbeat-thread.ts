import { parentPort, workerData } from "node:worker_threads";
import { callRoute } from "../contract/call-route.ts";
import { workerRoutes } from "../contract/worker-routes.ts";
import { systemClock } from "../runtime/clock.ts";
import { createHttpClient } from "../runtime/http-client.ts";
import type { HeartbeatOrder, HeartbeatThreadData } from "./heartbeat.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { machineMonotonicMs } from "./machine-clock.ts";

/**
 * The thread that renews leases. It has its own event loop and its own connection, so a main loop that is busy with
 * somebody's handler never makes the worker look dead.
 */
const data = workerData as HeartbeatThreadData;
const port = parentPort!;
const client = createHttpClient({ ...data.connection, agentOptions: { maxSockets: 2 } });
let status = data.status;

const keeper = new LeaseKeeper({
  clock: { ...systemClock, monotonicMs: machineMonotonicMs },
  random: Math.random,
  heartbeatMs: data.heartbeatMs,
  tell: (message) => data.messages.postMessage(message),
  killGroup,
  async send(current_jobs, timeoutMs) {
    const body = { worker_id: data.workerId, status, current_jobs };
    const answer = await callRoute(
      (request) => client.request({ ...request, timeoutMs }),
      workerRoutes.heartbeatWorker,
      { body },
    );
    return answer.body;
  },
});

port.on("message", (order: HeartbeatOrder) => {
  if (order.kind === "update") keeper.update(order);
  if (order.kind === "status") status = order.status;
  if (order.kind === "stop") {
    keeper.stop();
    client.close();
    data.messages.close();
    port.close();
  }
});
keeper.start();

/** A plain process leads a group. The first process of a cage leads none, but takes all of its cage with it. */
function killGroup(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
      return;
    } catch {
      // There is no such group, or it has gone by itself: then there is nothing left to end here.
    }
  }
}
