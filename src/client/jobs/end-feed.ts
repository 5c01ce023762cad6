import { isEnded } from "../../core/jobs/job.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import type { JobEvent } from "../shapes.ts";
import { followEvents } from "./follow-events.ts";

type Subscriber = {
  /** The job has ended or its processes are dead, or that may be so: read it. */
  wake(): void;
  onEvent?: ((event: JobEvent) => void) | undefined;
};

/**
 * Tells subscribers when their job may have ended. It follows the events of one job, or of all, from its first
 * subscriber to its last. When it cannot, it wakes them and leaves them to their polling.
 */
export class EndFeed {
  readonly #hub: HubCaller;
  readonly #jobId: string | undefined;
  readonly #subscribers = new Map<string, Set<Subscriber>>();
  #following: AbortController | undefined;
  #isLive = false;

  constructor(hub: HubCaller, jobId?: string) {
    this.#hub = hub;
    this.#jobId = jobId;
  }

  /** False while events may be missed. */
  get isLive(): boolean {
    return this.#isLive;
  }

  subscribe(jobId: string, subscriber: Subscriber): () => void {
    const group = this.#subscribers.get(jobId) ?? new Set();
    this.#subscribers.set(jobId, group.add(subscriber));
    if (this.#following === undefined) void this.#follow();
    // What happened before the subscription was missed, so the job has to be read once in any case.
    else if (this.#isLive) subscriber.wake();
    return () => {
      group.delete(subscriber);
      if (group.size === 0 && this.#subscribers.get(jobId) === group) this.#subscribers.delete(jobId);
      if (this.#subscribers.size === 0) this.#following?.abort();
    };
  }

  async #follow(): Promise<void> {
    const following = new AbortController();
    this.#following = following;
    try {
      for await (const event of followEvents(this.#hub, {
        jobId: this.#jobId,
        signal: following.signal,
        onOpen: () => this.#opened(following),
        onLost: () => this.#lost(following),
      })) {
        this.#pass(event);
      }
    } catch {
      // The subscribers read their jobs now and get the same error there, if it concerns them.
    }
    if (this.#following !== following) return;
    this.#following = undefined;
    this.#isLive = false;
    this.#wakeAll();
    // Somebody subscribed between the last unsubscription and the end of the stream.
    if (following.signal.aborted && this.#subscribers.size > 0) void this.#follow();
  }

  #opened(following: AbortController): void {
    if (this.#following !== following) return;
    this.#isLive = true;
    this.#wakeAll();
  }

  /** Waits poll by themselves until the stream is open again, and so notice that the hub is away. */
  #lost(following: AbortController): void {
    if (this.#following !== following || !this.#isLive) return;
    this.#isLive = false;
    this.#wakeAll();
  }

  #pass(event: JobEvent): void {
    if (event.event === "reset") {
      this.#wakeAll();
      return;
    }
    for (const subscriber of this.#subscribers.get(event.id) ?? []) {
      subscriber.onEvent?.(event);
      if (isEnded(event.status) || event.event === "job:stopped") subscriber.wake();
    }
  }

  #wakeAll(): void {
    for (const group of this.#subscribers.values()) for (const subscriber of group) subscriber.wake();
  }
}
