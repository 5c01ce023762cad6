import type { LoggedEvent } from "../../core/events.ts";
import type { Service } from "../../runtime/service.ts";
import { WakeUp } from "../../runtime/wake-up.ts";
import type { CommitNotice, EventFilter, Store, StoredJob } from "../../store/store.ts";

/** How many events are read at once. */
const pageEvents = 500;

type Reads = Pick<Store, "readEvents" | "onCommit" | "eventRange" | "getJob">;

/**
 * Turns the log into live streams. Each reader has its own position in the log and reads on from there whenever a
 * commit wakes it: nothing is buffered for a slow reader, and a reader that resumes notices no gap. Readers of one job
 * are woken only by commits that concern it.
 */
export class EventFeed implements Service {
  readonly name = "event feed";
  readonly #store: Reads;
  readonly #readers = new Map<string, Set<WakeUp>>();
  #lastSeq = 0;
  #stopListening: () => void = () => {};

  constructor(store: Reads) {
    this.#store = store;
  }

  async start(): Promise<void> {
    this.#stopListening = this.#store.onCommit((notice) => this.#hear(notice));
    this.#lastSeq = Math.max(this.#lastSeq, (await this.#store.eventRange()).last);
  }

  /** Readers are ended by their own signals; after this nothing wakes them. */
  async stop(): Promise<void> {
    this.#stopListening();
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Whether everything after this seq is still in the log. */
  async canResume(afterSeq: number): Promise<boolean> {
    const { first, last } = await this.#store.eventRange();
    return afterSeq <= last && (first === 0 || afterSeq >= first - 1);
  }

  /** Pages of events after a seq, for ever, until the signal ends it. */
  async *follow(filter: Omit<EventFilter, "limit">, signal: AbortSignal): AsyncGenerator<LoggedEvent[]> {
    let afterSeq = filter.afterSeq;
    const { wakeUp, leave } = this.#enter(filter.jobId ?? everything);
    try {
      while (!signal.aborted) {
        wakeUp.clear();
        const seenSeq = this.#lastSeq;
        const page = await this.#store.readEvents({ ...filter, afterSeq, limit: pageEvents });
        if (page.length > 0) {
          afterSeq = page.at(-1)!.seq;
          yield page;
        }
        if (page.length === pageEvents) continue;
        // No event of ours lies between the last event read and what was committed by then.
        afterSeq = Math.max(afterSeq, seenSeq);
        await wakeUp.wait({ signal });
      }
    } finally {
      leave();
    }
  }

  /** The job once it matches, or null if it was deleted. Rejects with the signal's reason. */
  async waitForJob(
    jobId: string,
    matchesFilter: (stored: StoredJob) => boolean,
    signal: AbortSignal,
  ): Promise<StoredJob | null> {
    const { wakeUp, leave } = this.#enter(jobId);
    try {
      while (true) {
        signal.throwIfAborted();
        wakeUp.clear();
        const stored = await this.#store.getJob({ jobId });
        if (stored === null || matchesFilter(stored)) return stored;
        await wakeUp.wait({ signal });
      }
    } finally {
      leave();
    }
  }

  /** Call it before the first read, so that no commit is missed between the read and the wait. */
  #enter(topic: string): { wakeUp: WakeUp; leave(): void } {
    const wakeUp = new WakeUp();
    const readers = this.#readers.get(topic) ?? new Set();
    this.#readers.set(topic, readers.add(wakeUp));
    const leave = (): void => {
      readers.delete(wakeUp);
      if (readers.size === 0 && this.#readers.get(topic) === readers) this.#readers.delete(topic);
    };
    return { wakeUp, leave };
  }

  #hear(notice: CommitNotice): void {
    this.#lastSeq = Math.max(this.#lastSeq, notice.lastSeq);
    if (this.#readers.size === 0) return;
    this.#wake(everything);
    for (const jobId of notice.jobs) this.#wake(jobId);
  }

  #wake(topic: string): void {
    for (const { wake } of this.#readers.get(topic) ?? []) wake();
  }
}

/** The topic of those who read the whole log; no job has this id. */
const everything = "*";
