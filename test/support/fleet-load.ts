import { setTimeout as pause } from "node:timers/promises";
import type { Writ } from "../../src/client/index.ts";
import type { HubFleet } from "./hub-fleet.ts";

const linesPerJob = 8;
/** Takes about a second, so that faults meet jobs that run and write. */
const script = `i=0; while [ $i -lt ${linesPerJob} ]; do i=$((i+1)); echo line $i; sleep 0.1; done`;
export const outputOfJob = Array.from({ length: linesPerJob }, (_, n) => `line ${n + 1}\n`).join("");

const betweenJobsMs = 400;

type Told = { event: string; id: string };

/** Producers and followers at every hub, which go on through whatever happens to the hubs. */
export class FleetLoad {
  readonly acknowledged = new Set<string>();
  /** The events of each follower, in order. */
  readonly told: Told[][] = [];
  readonly #clients: Writ[];
  readonly #over = new AbortController();
  readonly #followers = new AbortController();
  readonly #producing: Promise<void>[] = [];
  readonly #following: Promise<void>[] = [];

  constructor(fleet: HubFleet) {
    this.#clients = fleet.hubs.map((_, index) => fleet.client(index));
  }

  /** Resolves when every follower is there: each receives the event of a job that was made after it began. */
  async start(): Promise<void> {
    for (const client of this.#clients) {
      const told: Told[] = [];
      this.told.push(told);
      this.#following.push(this.#follow(client, told));
    }
    for (const [index, client] of this.#clients.entries())
      this.#producing.push(this.#produce(client, `producer-${index}`));
    while (this.told.some((told) => told.length === 0)) await pause(50);
  }

  async stopProducing(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#producing);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    this.#followers.abort();
    await Promise.allSettled([...this.#producing, ...this.#following]);
    for (const client of this.#clients) client.close();
  }

  async #produce(client: Writ, name: string): Promise<void> {
    for (let made = 0; !this.#over.signal.aborted; made++) {
      const run = { kind: "exec" as const, argv: ["sh", "-c", script] };
      const { id } = await client.submit({ type: "fleet", run, idempotency_key: `${name}-${made}` });
      this.acknowledged.add(id);
      await pause(betweenJobsMs);
    }
  }

  async #follow(client: Writ, told: Told[]): Promise<void> {
    try {
      for await (const event of client.events({ signal: this.#followers.signal })) {
        if (event.event === "reset") throw new Error("a follower was told that events are missing");
        told.push({ event: event.event, id: event.id });
      }
    } catch (error) {
      if (!this.#followers.signal.aborted) throw error;
    }
  }
}
