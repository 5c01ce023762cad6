import { WritError } from "../../core/errors.ts";
import type { LoggedEvent } from "../../core/events.ts";
import type { HubDeps } from "../deps.ts";
import { recordKeyRejected } from "../use-cases/access/manage-keys.ts";

type RingDeps = Pick<HubDeps, "store" | "feed" | "keys" | "clock" | "logger" | "tell" | "settings" | "home">;
type Change = { event: LoggedEvent["event"]; keyId: string; sinceMs: number };

const eventsPerTurn = 100;
/** A change is in the folder before it is in the log, but a network disk may show it a little later. */
const visibleWithinMs = 5_000;

/**
 * Notices that the keys of this hub are a copy. Every change of keys is in the log that all hubs share, so each must
 * appear in this hub's folder too. If one does not, this hub uses keys that the others no longer accept.
 */
export class SharedRing {
  readonly #deps: RingDeps;
  #seq: number | null = null;
  #missing: Change[] = [];

  constructor(deps: RingDeps) {
    this.#deps = deps;
  }

  async look(): Promise<void> {
    const { clock } = this.#deps;
    await this.#readNew();
    this.#missing = this.#missing.filter((change) => !this.#isHere(change));
    const overdue = this.#missing.filter(({ sinceMs }) => clock.monotonicMs() - sinceMs >= visibleWithinMs);
    if (overdue.length === 0) return;
    this.#missing = this.#missing.filter((change) => !overdue.includes(change));
    await this.#report(overdue);
  }

  /** Reads changes since the start of this service: the log is too long to be searched for older ones. */
  async #readNew(): Promise<void> {
    const { store, feed, clock } = this.#deps;
    const { lastSeq } = feed;
    this.#seq ??= lastSeq;
    if (lastSeq <= this.#seq) return;
    const events = await store.readEvents({
      afterSeq: this.#seq,
      kinds: ["KEY_ROTATED", "KEY_REVOKED"],
      limit: eventsPerTurn,
    });
    const isAll = events.length < eventsPerTurn;
    this.#seq = isAll ? Math.max(lastSeq, events.at(-1)?.seq ?? 0) : events.at(-1)!.seq;
    const sinceMs = clock.monotonicMs();
    for (const { event, details } of events)
      this.#missing.push({ event, keyId: String(details["key_id"]), sinceMs });
  }

  #isHere({ event, keyId }: Change): boolean {
    const record = this.#deps.keys.list().find(({ key_id }) => key_id === keyId);
    return record !== undefined && (event === "KEY_ROTATED" || record.status === "revoked");
  }

  async #report(changes: readonly Change[]): Promise<void> {
    const { logger, tell, settings, home } = this.#deps;
    const what = changes.map(
      ({ event, keyId }) => `key ${keyId} was ${event === "KEY_ROTATED" ? "made" : "revoked"}`,
    );
    const where =
      settings.keysDir === null ? `the folder keys in ${home}` : `WRIT_KEYS_DIR ${settings.keysDir}`;
    const message =
      `${what.join(", ")} by another hub on this database, but not in ${where}: it is a copy; ` +
      "stop this hub, and start it with the folder that the others share";
    logger.error({ key_ids: changes.map(({ keyId }) => keyId) }, message);
    tell(message);
    await recordKeyRejected(this.#deps, null, new WritError("KEY_REJECTED", message));
  }
}
