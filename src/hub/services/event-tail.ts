import type { EventKind, LoggedEvent } from "../../core/events.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { WakeUp } from "../../runtime/clock/wake-up.ts";
import type { EventFilter } from "../../store/event-store.ts";
import type { Store } from "../../store/store.ts";
import { hubKinds, liveKinds } from "../views/event-view.ts";

/** How many events are read at once. */
export const pageEvents = 500;
/** A reader that is further behind than this reads the store. */
const tailEvents = 2_000;
/** Writing to many readers takes a while: after this many, other calls are served. */
const readersAtOnce = 50;
const restMs = 10;

/** The live events that a reader follows. */
export type LiveFilter = Pick<EventFilter, "tenantId" | "ownerId" | "jobId"> & {
  /** Also events of the hub itself (default: only those of jobs). */
  hasHub?: boolean | undefined;
};

export function kindsOf({ hasHub }: LiveFilter): EventKind[] {
  return hasHub ? tailKinds : liveKinds;
}

const tailKinds = [...liveKinds, ...hubKinds];

/** A follower of live events. */
export type Reader = {
  readonly filter: LiveFilter;
  readonly wakeUp: WakeUp;
  /** It has seen all its events up to here. */
  afterSeq: number;
  /** Whether it has seen everything that the tail has, and waits for more. */
  isWaiting: boolean;
};

/**
 * The newest live events of the log. They are read once for all readers that keep up, and only readers that an event
 * concerns are woken for it, so that events of other tenants cost a reader nothing. Every reader gets the same objects,
 * so that what is made from an event can be shared as well. Why: ADR 0032.
 */
export class EventTail {
  readonly #store: Pick<Store, "readEvents">;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #readers = new Set<Reader>();
  #events: LoggedEvent[] = [];
  /** The tail has every live event after `#afterSeq`, up to and including `#throughSeq`. */
  #afterSeq = 0;
  #throughSeq = 0;
  /** The newest event that is committed. */
  #lastSeq = 0;
  #isReading = false;

  constructor(store: Pick<Store, "readEvents">, clock: Pick<Clock, "sleep">) {
    this.#store = store;
    this.#clock = clock;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Call it before the reader's first look, so that no commit is missed between the look and the wait. */
  enter(filter: LiveFilter, afterSeq: number): Reader {
    // Events that were committed while there was no reader need not be read for a new one.
    if (this.#readers.size === 0 && !this.#isReading) this.#beginAt(this.#lastSeq);
    const reader = { filter, wakeUp: new WakeUp(), afterSeq, isWaiting: false };
    this.#readers.add(reader);
    return reader;
  }

  leave(reader: Reader): void {
    this.#readers.delete(reader);
  }

  /** Announces that events up to this one are committed. */
  announce(lastSeq: number): void {
    this.#lastSeq = Math.max(this.#lastSeq, lastSeq);
    if (this.#readers.size > 0 && !this.#isReading) void this.#readNewest();
  }

  /**
   * The reader's next events, or null if the tail does not have all of them. If the list is empty, the reader may wait.
   */
  next(reader: Reader): LoggedEvent[] | null {
    if (reader.afterSeq < this.#afterSeq) return null;
    const before = this.#events.findLastIndex(({ seq }) => seq <= reader.afterSeq);
    const events = this.#events.slice(before + 1).filter((event) => concerns(event, reader.filter));
    reader.afterSeq = Math.max(reader.afterSeq, this.#throughSeq);
    reader.isWaiting = events.length === 0;
    return events;
  }

  /** Reads the newest events for all readers. */
  async #readNewest(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#readers.size > 0 && this.#throughSeq < this.#lastSeq) {
        const page = await this.#readPage();
        await this.#tell(page);
      }
    } catch {
      // Each reader reads the store by itself now, and reports the error to its caller if it remains.
      this.#beginAt(this.#lastSeq);
      for (const { wakeUp } of this.#readers) wakeUp.wake();
    } finally {
      this.#isReading = false;
    }
  }

  /** Adds the next events. */
  async #readPage(): Promise<LoggedEvent[]> {
    const lastSeq = this.#lastSeq;
    const filter = { afterSeq: this.#throughSeq, kinds: tailKinds, limit: pageEvents };
    const page = await this.#store.readEvents(filter);
    const readSeq = page.at(-1)?.seq ?? 0;
    this.#events.push(...page);
    const removed = this.#events.splice(0, this.#events.length - tailEvents);
    this.#afterSeq = removed.at(-1)?.seq ?? this.#afterSeq;
    this.#throughSeq = page.length === pageEvents ? readSeq : Math.max(readSeq, lastSeq);
    return page;
  }

  /** Wakes the readers that the newest page concerns. Other waiting readers need not see the page. */
  async #tell(page: LoggedEvent[]): Promise<void> {
    const topics = topicsOf(page);
    let woken = 0;
    for (const reader of this.#readers) {
      if (topics.has(topicOf(reader.filter))) {
        reader.isWaiting = false;
        reader.wakeUp.wake();
        woken++;
        if (woken % readersAtOnce === 0) await this.#clock.sleep(restMs);
      } else if (reader.isWaiting) {
        reader.afterSeq = Math.max(reader.afterSeq, this.#throughSeq);
      }
    }
  }

  #beginAt(seq: number): void {
    this.#events = [];
    this.#afterSeq = seq;
    this.#throughSeq = seq;
    for (const reader of this.#readers) reader.isWaiting = false;
  }
}

function concerns(event: LoggedEvent, { tenantId, ownerId, jobId, hasHub }: LiveFilter): boolean {
  return (
    (hasHub || event.jobId !== null) &&
    (tenantId === undefined || event.tenantId === tenantId) &&
    (ownerId === undefined || event.ownerId === ownerId) &&
    (jobId === undefined || event.jobId === jobId)
  );
}

/** The narrowest part of the filter: an event of another topic does not concern the reader. */
function topicOf({ tenantId, ownerId, jobId }: LiveFilter): string {
  if (jobId !== undefined) return `job ${jobId}`;
  if (ownerId !== undefined) return `owner ${ownerId}`;
  return tenantId === undefined ? "everything" : `tenant ${tenantId}`;
}

function topicsOf(events: LoggedEvent[]): Set<string> {
  const topics = new Set(events.length === 0 ? [] : [topicOf({})]);
  for (const { tenantId, ownerId, jobId } of events) {
    topics.add(`job ${jobId}`).add(`owner ${ownerId}`).add(`tenant ${tenantId}`);
  }
  return topics;
}
