import { callRoute } from "../../contract/routes/call-route.ts";
import { workerRoutes } from "../../contract/routes/worker-routes.ts";
import type { DisconnectAct } from "../../core/jobs/document.ts";
import type { HttpClient } from "../../runtime/http/http-client.ts";
import type { Lease } from "../../signing/lease.ts";
import type { HeartbeatOptions, WorkerHeartbeat } from "./heartbeat.ts";
import { KeptLeases } from "./kept-leases.ts";
import { LeaseKeeper } from "./lease-keeper.ts";

type LoopParts = { client: Pick<HttpClient, "request">; random: () => number };

/**
 * Renews leases in the worker's own loop, without a thread: for a worker inside a test or a simulation, which has no processes and
 * owns the time. Why: ADR 0118.
 */
export class LoopHeartbeat implements WorkerHeartbeat {
  readonly name = "heartbeat";
  readonly #keeper: LeaseKeeper;
  readonly #leases: KeptLeases;
  #status: "active" | "draining" = "active";

  constructor(options: HeartbeatOptions, { client, random }: LoopParts) {
    const { workerId, bootId, clock, heartbeatMs, hubAwayMs, onMessage } = options;
    this.#leases = new KeptLeases(() => clock.monotonicMs());
    this.#keeper = new LeaseKeeper({
      clock,
      random,
      heartbeatMs,
      hubAwayMs,
      killGroup: () => {},
      tell: (message) => {
        if (message.kind === "answer") this.#leases.noteRenewal(message);
        onMessage(message);
      },
      send: async (current_jobs, timeoutMs) => {
        const body = { worker_id: workerId, boot_id: bootId, status: this.#status, current_jobs };
        const answer = await callRoute(
          (request) => client.request({ ...request, timeoutMs }),
          workerRoutes.heartbeatWorker,
          { body },
        );
        return answer.body;
      },
    });
  }

  async start(): Promise<void> {
    this.#keeper.start();
  }

  async stop(): Promise<void> {
    this.#keeper.stop();
  }

  hold(key: string, lease: Lease, onDisconnect: DisconnectAct): void {
    this.#keeper.update({ hold: [this.#leases.hold(key, lease, onDisconnect)] });
  }

  drop(key: string): void {
    this.#leases.drop(key);
    this.#keeper.update({ drop: [key] });
  }

  setProcess(): void {}

  catchUp(): void {}

  mayStart(key: string): boolean {
    return this.#leases.isCurrent(key);
  }

  setStatus(status: "active" | "draining"): void {
    this.#status = status;
    this.#keeper.hurry();
  }
}
