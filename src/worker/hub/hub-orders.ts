import type { Logger } from "../../runtime/log/logger.ts";
import type { ClaimGate } from "../claims/claim-gate.ts";
import type { ClaimLoop } from "../claims/claim-loop.ts";
import { type HeldJob, type HeldJobs, loseJob, stopJob } from "../claims/held-jobs.ts";
import type { Slots } from "../slots.ts";
import type { HubLink } from "./hub-link.ts";
import type { KeeperMessage } from "./lease-keeper.ts";

type OrderDeps = {
  logger: Logger;
  hubAwayMs: number;
  gate: ClaimGate;
  held: HeldJobs;
  slots: Pick<Slots, "endWaiting">;
  claims: Pick<ClaimLoop, "wake">;
  link: Pick<HubLink, "renew" | "refreshKeys">;
  /** Called when the hub tells this worker to claim nothing more, or allows it again. */
  onDrain(isTold: boolean): void;
};

/** Carries out the hub's commands, from the command stream or from the response to a heartbeat. */
export class HubOrders {
  readonly #deps: OrderDeps;

  constructor(deps: OrderDeps) {
    this.#deps = deps;
  }

  hearCommand(command: string, data: Record<string, unknown>): void {
    const { gate, held, claims, link } = this.#deps;
    const jobs = [...held.ofJob(String(data["job_id"]))];
    if (command === "work") claims.wake();
    else if (command === "cancel") for (const job of jobs) this.#cancel(job);
    else if (command === "lost") this.#loseOldest(jobs);
    else if (command === "drain") this.#setToldToDrain(true);
    else if (command === "keys") {
      // Registering again would end a drain, so it is done when the drain is over.
      if (!gate.isToldToDrain) void link.refreshKeys();
    }
  }

  hearHeartbeat(message: KeeperMessage): void {
    const { logger, link } = this.#deps;
    if (message.kind === "failed") {
      if (message.code === "WORKER_UNKNOWN" || message.code === "UNAUTHENTICATED") link.renew();
      logger.debug({ code: message.code, reason: message.message }, "a heartbeat failed");
      return;
    }
    if (message.kind === "overdue") {
      const facts = { jobs: message.keys, hub_away_ms: this.#deps.hubAwayMs };
      logger.warn(facts, "the hub was not reached in time; these jobs continue until it is back");
      return;
    }
    if (message.kind === "fenced") {
      logger.error({ jobs: message.keys }, "the hub could not be reached in time; ending these jobs");
      for (const held of this.#heldOf(message.keys)) this.#lose(held, "fence");
      return;
    }
    for (const held of this.#heldOf(message.cancel)) this.#cancel(held);
    for (const held of this.#heldOf(message.lost)) this.#lose(held, "hub");
    this.#setToldToDrain(message.drain);
  }

  #heldOf(keys: string[]): HeldJob[] {
    return keys.map((key) => this.#deps.held.get(key)).filter((held) => held !== undefined);
  }

  #cancel(held: HeldJob): void {
    stopJob(held, "cancelled");
    this.#deps.slots.endWaiting(held);
  }

  #lose(held: HeldJob, saidBy: "hub" | "fence"): void {
    loseJob(held, saidBy);
    this.#deps.slots.endWaiting(held);
  }

  /** The command may be older than the newest of several attempts; the next heartbeat tells whether that one is lost. */
  #loseOldest(jobs: HeldJob[]): void {
    const newest = Math.max(...jobs.map(({ lease }) => lease.attempt));
    const lost = jobs.length > 1 ? jobs.filter(({ lease }) => lease.attempt < newest) : jobs;
    for (const held of lost) this.#lose(held, "hub");
  }

  #setToldToDrain(isTold: boolean): void {
    const { gate, onDrain } = this.#deps;
    if (isTold === gate.isToldToDrain) return;
    gate.setToldToDrain(isTold);
    onDrain(isTold);
  }
}
