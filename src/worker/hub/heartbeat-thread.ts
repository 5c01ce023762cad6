import { parentPort, workerData } from "node:worker_threads";
import { callRoute } from "../../contract/routes/call-route.ts";
import { workerRoutes } from "../../contract/routes/worker-routes.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { createHttpClient } from "../../runtime/http/http-client.ts";
import { machineMonotonicMs } from "../machine-clock.ts";
import type { HeartbeatOrder, HeartbeatThreadData } from "./heartbeat.ts";
import { LeaseKeeper } from "./lease-keeper.ts";

/**
 * The thread that renews leases. It has its own event loop and its own connection, so that a main loop that is busy
 * with a handler never makes the worker look dead. Why: ADR 0033.
 */
const data = workerData as HeartbeatThreadData;
const port = parentPort!;
const client = createHttpClient({ ...data.connection, connectionsMax: 2 });
let status = data.status;

const keeper = new LeaseKeeper({
  clock: { ...systemClock, monotonicMs: machineMonotonicMs },
  random: Math.random,
  heartbeatMs: data.heartbeatMs,
  hubAwayMs: data.hubAwayMs,
  tell: (message) => data.messages.postMessage(message),
  killGroup,
  async send(current_jobs, timeoutMs) {
    const body = { worker_id: data.workerId, boot_id: data.bootId, status, current_jobs };
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
  if (order.kind === "status") {
    status = order.status;
    keeper.hurry();
  }
  if (order.kind === "stop") {
    keeper.stop();
    client.close();
    data.messages.close();
    port.close();
  }
});
keeper.start();

/** A plain process leads a group. The first process of a cage leads none, but its death ends the whole cage. */
function killGroup(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
      return;
    } catch {
      // There is no such group, or it has already ended: there is nothing left to kill.
    }
  }
}
