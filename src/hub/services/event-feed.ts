import type { LoggedEvent } from "../../core/events.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { JobWakes } from "../../runtime/clock/job-wakes.ts";
import { WakeUp } from "../../runtime/clock/wake-up.ts";
import type { Service } from "../../runtime/service.ts";
import type { CommitNotice } from "../../store/event-store.ts";
import type { Store, StoredJob } from "../../store/store.ts";
import { EventTail, kindsOf, type LiveFilter, pageEvents, type Reader } from "./event-tail.ts";

/**
 * The most events that one read examines: a reader that is far behind, and that few events concern, must not delay
 * other reads.
 */
const examinedMax = 20_000;

type Reads = Pick<Store, "readEvents" | "onCommit" | "eventRange" | "getJob">;

/**
 * Turns the log into live streams. Each reader has its own position in the log and continues from there when it is
 * woken: nothing is buffered for a slow reader, and a reader that resumes has no gap. Readers that keep up share one
 * read of the store. Why: ADR 0004, ADR 0032.
 */
export class EventFeed implements Service {
  readonly name = "event feed";
  readonly #store: Reads;
  readonly #tail: EventTail;
  /** The callers that wait for a change of one job. */
  readonly #waiting = new JobWakes();
  #stopListening: () => void = () => {};

  constructor(store: Reads, clock: Pick<Clock, "sleep">) {
    this.#store = store;
    this.#tail = new EventTail(store, clock);
  }

  async start(): Promise<void> {
    this.#stopListening = this.#store.onCommit((notice) => this.#announce(notice));
    this.#tail.announce((await this.#store.eventRange()).last);
  }

  /** After this nothing wakes the readers; their own signals end them. */
  async stop(): Promise<void> {
    this.#stopListening();
  }

  get lastSeq(): number {
    return this.#tail.lastSeq;
  }

  /** Whether everything after this seq is still in the log. */
  async canResume(afterSeq: number): Promise<boolean> {
    const { first, last } = await this.#store.eventRange();
    return afterSeq <= last && (first === 0 || afterSeq >= first - 1);
  }

  /** Yields pages of live events after a seq until the signal is aborted. */
  async *follow(
    { afterSeq, ...filter }: LiveFilter & { afterSeq: number },
    signal: AbortSignal,
  ): AsyncGenerator<LoggedEvent[]> {
    const reader = this.#tail.enter(filter, afterSeq);
    try {
      while (!signal.aborted) {
        reader.wakeUp.clear();
        const page = this.#tail.next(reader) ?? (await this.#readFromStore(reader));
        if (page.length > 0) yield page;
        if (reader.isWaiting) await reader.wakeUp.wait({ signal });
      }
    } finally {
      this.#tail.leave(reader);
    }
  }

  async #readFromStore(reader: Reader): Promise<LoggedEvent[]> {
    const { filter, afterSeq } = reader;
    // The events of one job are found by an index, however far apart they are.
    const seekMax = filter.jobId === undefined ? examinedMax : Number.POSITIVE_INFINITY;
    const throughSeq = Math.max(afterSeq, Math.min(this.lastSeq, afterSeq + seekMax));
    const limit = pageEvents;
    const { hasHub: _, ...whose } = filter;
    const kinds = kindsOf(filter);
    const page = await this.#store.readEvents({ ...whose, kinds, afterSeq, throughSeq, limit });
    // A page that is not full contains all events of this reader in the examined part.
    reader.afterSeq = page.length === limit ? page.at(-1)!.seq : throughSeq;
    return page;
  }

  /** Resolves with the job once it matches, or with null if it was deleted. Rejects with the signal's reason. */
  async waitForJob(
    jobId: string,
    matchesFilter: (stored: StoredJob) => boolean,
    signal: AbortSignal,
  ): Promise<StoredJob | null> {
    const wakeUp = new WakeUp();
    // Before the first read, so that no commit is missed between the read and the wait.
    const leave = this.#waiting.add(jobId, wakeUp.wake);
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

  #announce({ lastSeq, jobs, isAll }: CommitNotice): void {
    this.#tail.announce(lastSeq);
    if (isAll) this.#waiting.wake(null);
    else for (const jobId of jobs) this.#waiting.wake(jobId);
  }
}
