import type { Clock } from "../../runtime/clock/clock.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import type { Store } from "../../store/store.ts";
import type { HubDeps } from "../deps.ts";

const roundMs = 4_000;

/**
 * The workers and tenants whose requests are recorded in full. Kept in memory, because every request checks it; the
 * store keeps it across restarts.
 */
export class WatchList {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async load(store: Pick<Store, "listWatched">): Promise<void> {
    for (const { subject, until } of await store.listWatched({ nowMs: this.#clock.nowMs() })) {
      this.add(subject, until);
    }
  }

  add(subject: string, until: number): void {
    this.#until.set(subject, until);
  }

  get isEmpty(): boolean {
    return this.#until.size === 0;
  }

  has(subject: string): boolean {
    const until = this.#until.get(subject);
    if (until === undefined) return false;
    if (until > this.#clock.nowMs()) return true;
    this.#until.delete(subject);
    return false;
  }
}

/** The responder runs at the leading hub and adds to the list; the other hubs read what it has stored. */
export function createWatchListReader({ watched, store, leadership, clock, failures }: HubDeps): Service {
  const onError = (error: unknown) => failures.error(error, "the watch list could not be read");
  return repeat({ name: "watch list", intervalMs: roundMs, clock, onError }, async () => {
    if (!leadership.isLeader) await watched.load(store);
  });
}
