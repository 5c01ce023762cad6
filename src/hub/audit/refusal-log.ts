import type { NewEvent } from "../../core/events.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import type { Store } from "../../store/store.ts";

/** A refusal to be recorded. */
export type Refusal = Omit<NewEvent, "ts" | "ownerId"> & {
  /** The refused caller: the id of a token, or else a trait that the calls of a flood have in common. */
  caller: string;
  /** What was refused, for example a route and a job. A caller's first few subjects have records of their own. */
  subject?: string;
};

type Count = {
  refusal: Refusal;
  folded: number;
  since: number;
  until: number;
  /** The caller whose subject it counts; null if it counts many subjects or many callers. */
  group: string | null;
};

const windowMs = 60_000;
const roundMs = 1_000;
/** More subjects of one caller than this in a minute are counted together. */
const subjectsMax = 10;
/** Beyond this number, counts are kept by kind of event only. */
const countsMax = 10_000;
/**
 * The details that a record of many refusals takes from the first. Other details differ from one to the next, or must
 * be acted on once.
 */
const keptDetails = ["role", "token_id", "worker_id", "violation_type", "act"] as const;

/**
 * Records refusals so that no caller can fill the audit trail with them: for each caller, the first of a kind in a
 * minute is recorded whole, and the others are counted and recorded as one when the minute ends. A hub that is killed
 * loses at most the counts of the last minute; while the store cannot record them, counting continues. Why: ADR 0026.
 */
export class RefusalLog implements Service {
  readonly name = "refusal log";
  readonly #store: Pick<Store, "recordEvents">;
  readonly #clock: Clock;
  readonly #counts = new Map<string, Count>();
  /** How many subjects each caller has for each kind of event. */
  readonly #subjects = new Map<string, number>();
  readonly #rounds: Service;

  constructor(store: Pick<Store, "recordEvents">, clock: Clock, onError: (error: unknown) => void) {
    this.#store = store;
    this.#clock = clock;
    const round = () => this.#writeCounts(({ until }) => until <= clock.monotonicMs());
    this.#rounds = repeat({ name: this.name, intervalMs: roundMs, clock, onError }, round);
  }

  start(): Promise<void> {
    return this.#rounds.start();
  }

  /** Resolves when everything that was counted is recorded. */
  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#writeCounts(() => true);
  }

  /** Resolves when the refusal is recorded, or at once if it is only counted. */
  async record(refusal: Refusal): Promise<void> {
    const { key, group } = this.#keyOf(refusal);
    const known = this.#counts.get(key);
    if (known !== undefined) {
      known.folded++;
      return;
    }
    const since = this.#clock.nowMs();
    const count = { refusal, folded: 0, since, until: this.#clock.monotonicMs() + windowMs, group };
    this.#add(key, count);
    try {
      await this.#store.recordEvents({ events: [eventOf(refusal, since)] });
    } catch (error) {
      count.folded++;
      throw error;
    }
  }

  /** Adds to the present count of this key, if there is one. */
  #add(key: string, count: Count): void {
    const known = this.#counts.get(key);
    if (known !== undefined) {
      known.folded += count.folded;
      known.since = count.since;
      known.until = count.until;
      return;
    }
    this.#counts.set(key, count);
    this.#addSubjects(count.group, 1);
  }

  /** The key under which a refusal is counted, and its caller's group if that key is one of the caller's subjects. */
  #keyOf({ event, caller, subject = "" }: Refusal): { key: string; group: string | null } {
    const group = JSON.stringify([event, caller]);
    const key = JSON.stringify([event, caller, subject]);
    if (this.#counts.has(key)) return { key, group };
    if (this.#counts.size >= countsMax) return { key: event, group: null };
    if ((this.#subjects.get(group) ?? 0) >= subjectsMax) return { key: group, group: null };
    return { key, group };
  }

  #addSubjects(group: string | null, difference: 1 | -1): void {
    if (group === null) return;
    const subjects = (this.#subjects.get(group) ?? 0) + difference;
    if (subjects > 0) this.#subjects.set(group, subjects);
    else this.#subjects.delete(group);
  }

  async #writeCounts(isDue: (count: Count) => boolean): Promise<void> {
    const due = [...this.#counts].filter(([, count]) => isDue(count));
    for (const [key, { group }] of due) {
      this.#counts.delete(key);
      this.#addSubjects(group, -1);
    }
    const folded = due.filter(([, count]) => count.folded > 0);
    if (folded.length === 0) return;
    const ts = this.#clock.nowMs();
    try {
      await this.#store.recordEvents({ events: folded.map(([, count]) => foldedEvent(count, ts)) });
    } catch (error) {
      // The next round tries again.
      for (const [key, count] of folded) this.#add(key, count);
      throw error;
    }
  }
}

function eventOf({ event, tenantId, jobId, details, origin }: Refusal, ts: number): NewEvent {
  return { event, ts, tenantId, jobId, ownerId: null, details, origin };
}

function foldedEvent({ refusal, folded, since }: Count, ts: number): NewEvent {
  const { details } = refusal;
  const kept = keptDetails.filter((name) => details[name] !== undefined).map((name) => [name, details[name]]);
  const counted = { ...Object.fromEntries(kept), folded, since };
  return { ...eventOf(refusal, ts), jobId: null, details: counted };
}
