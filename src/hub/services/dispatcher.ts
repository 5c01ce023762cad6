import { fits, parseQueueKey, type QueueFacts, type WorkerFacts } from "../../core/queue-key.ts";
import type { CommitNotice, Store } from "../../store/store.ts";

/** Somebody who waits for work: a parked claim, or a worker's command stream after a claim that was not filled. */
export type Waiter = {
  facts: WorkerFacts;
  /** How many jobs one wake-up is good for. */
  capacity: number;
  wake(): void;
};

export type Command = "work" | "cancel" | "lost" | "drain" | "keys";
export type CommandListener = (command: Command, data: Record<string, unknown>) => void;

const parsedKeysMax = 10_000;

/**
 * Wakes as many waiting workers as there are new jobs that fit them, the one that has waited longest first, so that
 * one job does not set off a stampede. It only ever hints: who is woken still has to claim, and a hint that is lost
 * is made good by the next `wakeAll` of the reaper.
 */
export class Dispatcher {
  readonly #waiters = new Set<Waiter>();
  readonly #listeners = new Map<string, CommandListener>();
  readonly #hungry = new Map<string, Waiter>();
  readonly #parsedKeys = new Map<string, QueueFacts>();
  #stopListening: () => void = () => {};
  #isStopped = false;

  start(store: Pick<Store, "onCommit">): void {
    this.#stopListening = store.onCommit((notice) => this.#hear(notice));
  }

  /** Whoever waits is woken and should not wait again. */
  stop(): void {
    this.#isStopped = true;
    this.#stopListening();
    this.wakeAll();
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Returns the way to stop waiting. */
  wait(waiter: Waiter): () => void {
    this.#waiters.add(waiter);
    return () => this.#waiters.delete(waiter);
  }

  /** A worker has one command stream: a new one takes over from one whose end has not been noticed yet. */
  listen(workerId: string, listener: CommandListener): () => void {
    this.#listeners.set(workerId, listener);
    return () => {
      if (this.#listeners.get(workerId) !== listener) return;
      this.#listeners.delete(workerId);
      this.#forgetHunger(workerId);
    };
  }

  /**
   * A claim of this worker came back with room to spare: the next job that fits is worth a call. A worker that is
   * full is not hungry, so no hint is wasted on it while another one idles.
   */
  hungry(workerId: string, facts: WorkerFacts, capacity: number): void {
    if (!this.#listeners.has(workerId)) return;
    this.#forgetHunger(workerId);
    const waiter = {
      facts,
      capacity,
      wake: () => {
        this.#forgetHunger(workerId);
        this.tell(workerId, "work", {});
      },
    };
    this.#hungry.set(workerId, waiter);
    this.#waiters.add(waiter);
  }

  tell(workerId: string, command: Command, data: Record<string, unknown>): void {
    this.#listeners.get(workerId)?.(command, data);
  }

  /** The same to every worker whose command stream is open here. */
  tellAll(command: Command, data: Record<string, unknown>): void {
    for (const listener of [...this.#listeners.values()]) listener(command, data);
  }

  /** Something may have made jobs claimable without a commit saying so: everybody looks again. */
  wakeAll(): void {
    for (const waiter of [...this.#waiters]) waiter.wake();
  }

  #forgetHunger(workerId: string): void {
    const waiter = this.#hungry.get(workerId);
    if (waiter === undefined) return;
    this.#hungry.delete(workerId);
    this.#waiters.delete(waiter);
  }

  #hear(notice: CommitNotice): void {
    for (const { queueKey, count } of notice.ready) this.#wakeFor(this.#factsOf(queueKey), count);
    for (const { workerId, jobId, signal } of notice.signals) this.tell(workerId, signal, { job_id: jobId });
  }

  #wakeFor(queue: QueueFacts, jobs: number): void {
    let left = jobs;
    for (const waiter of [...this.#waiters]) {
      if (left <= 0) return;
      if (!fits(queue, waiter.facts)) continue;
      left -= waiter.capacity;
      // A set keeps its order: whoever is put back at its end has its turn after all the others.
      if (this.#waiters.delete(waiter)) this.#waiters.add(waiter);
      waiter.wake();
    }
  }

  #factsOf(queueKey: string): QueueFacts {
    const known = this.#parsedKeys.get(queueKey);
    if (known !== undefined) return known;
    if (this.#parsedKeys.size >= parsedKeysMax) this.#parsedKeys.clear();
    const facts = parseQueueKey(queueKey);
    this.#parsedKeys.set(queueKey, facts);
    return facts;
  }
}
