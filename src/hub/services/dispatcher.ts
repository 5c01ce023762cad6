import { fits, parseQueueKey, type QueueFacts, type WorkerFacts } from "../../core/jobs/queue-key.ts";
import type { Service } from "../../runtime/service.ts";
import type { CommitNotice, ReadyJobs } from "../../store/event-store.ts";
import type { Store } from "../../store/store.ts";
import type { ParkedClaim } from "./parked-claim.ts";

/** A waiter for jobs: a parked claim, or a worker's command stream after a claim that was not filled. */
export type Waiter = {
  facts: WorkerFacts;
  /** How many jobs it can take after one wake-up. */
  capacity: number;
  /** Wakes it for these jobs; without an argument it should look at all of them. */
  wake(ready?: ReadyJobs): void;
};

type Command = "work" | "cancel" | "lost" | "drain" | "keys";
type CommandListener = (command: Command, data: Record<string, unknown>) => void;

const parsedKeysMax = 10_000;

/**
 * Wakes as many waiting workers as there are new jobs that fit them, longest wait first, so that one job does not wake
 * all workers. These are only hints: a worker that is woken still has to claim, and the reaper's next `wakeAll` makes
 * up for a lost hint. Why: ADR 0008, ADR 0063.
 */
export class Dispatcher implements Service {
  readonly name = "dispatcher";
  readonly #store: Pick<Store, "onCommit">;
  readonly #waiters = new Set<Waiter>();
  readonly #listeners = new Map<string, CommandListener>();
  readonly #hinted = new Map<string, Waiter>();
  /** By worker. */
  readonly #parked = new Map<string, Set<ParkedClaim>>();
  readonly #parkedById = new Map<string, ParkedClaim>();
  readonly #parsedKeys = new Map<string, QueueFacts>();
  #stopListening: () => void = () => {};
  #isStopped = false;

  constructor(store: Pick<Store, "onCommit">) {
    this.#store = store;
  }

  /** Wakes claims that already wait, because earlier commits were not announced. */
  async start(): Promise<void> {
    this.#stopListening = this.#store.onCommit((notice) => this.#hear(notice));
    this.wakeAll();
  }

  /** Wakes every waiter, which should not wait again. */
  async stop(): Promise<void> {
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

  /**
   * From here on the claim is woken. Call it before the first look: a job that is committed between the look and the
   * wait must find a waiter.
   */
  park(workerId: string, claim: ParkedClaim): void {
    this.#endHint(workerId);
    this.#waiters.add(claim);
    const ofWorker = this.#parked.get(workerId) ?? new Set();
    this.#parked.set(workerId, ofWorker.add(claim));
    this.#parkedById.set(claim.id, claim);
  }

  /**
   * The claim returns to its worker, which has room for this many more jobs: the next fitting job sends a hint on its
   * command stream. A full worker gets no hint, so that none is wasted while another worker is idle. Jobs that the
   * claim was woken for and has not seen are passed to the claims that wait now.
   */
  unpark(workerId: string, claim: ParkedClaim, room: number): void {
    this.#waiters.delete(claim);
    this.#parkedById.delete(claim.id);
    const ofWorker = this.#parked.get(workerId);
    if (ofWorker?.delete(claim) && ofWorker.size === 0) this.#parked.delete(workerId);
    if (room > 0) this.#hintLater(workerId, claim.facts, room);
    for (const ready of claim.unseen) this.#wakeFor(ready);
  }

  /** The worker registered again, was drained or blocked, or left: its waiting claims return, and get no more jobs. */
  #recall(workerId: string): void {
    for (const claim of this.#parked.get(workerId) ?? []) claim.recall();
    // A hint would be wasted on a worker that gets no jobs; one that may have jobs claims again.
    this.#endHint(workerId);
  }

  /** Adds the worker's command stream. It has one: a new stream replaces one whose end has not been noticed yet. */
  listen(workerId: string, listener: CommandListener): () => void {
    this.#listeners.set(workerId, listener);
    return () => {
      if (this.#listeners.get(workerId) !== listener) return;
      this.#listeners.delete(workerId);
      this.#endHint(workerId);
    };
  }

  tell(workerId: string, command: Command, data: Record<string, unknown>): void {
    this.#listeners.get(workerId)?.(command, data);
  }

  /** Sends the same to every worker whose command stream is open here. */
  tellAll(command: Command, data: Record<string, unknown>): void {
    for (const listener of [...this.#listeners.values()]) listener(command, data);
  }

  /** Wakes every waiter, because jobs may have become claimable without a commit that says so. */
  wakeAll(): void {
    for (const waiter of [...this.#waiters]) waiter.wake();
  }

  #hintLater(workerId: string, facts: WorkerFacts, capacity: number): void {
    if (!this.#listeners.has(workerId)) return;
    this.#endHint(workerId);
    const wake = (): void => {
      this.#endHint(workerId);
      this.tell(workerId, "work", {});
    };
    const waiter = { facts, capacity, wake };
    this.#hinted.set(workerId, waiter);
    this.#waiters.add(waiter);
  }

  #endHint(workerId: string): void {
    const waiter = this.#hinted.get(workerId);
    if (waiter === undefined) return;
    this.#hinted.delete(workerId);
    this.#waiters.delete(waiter);
  }

  #hear(notice: CommitNotice): void {
    for (const { claimId, claimed } of notice.handedOver) this.#parkedById.get(claimId)?.give(claimed);
    if (notice.isAll) this.wakeAll();
    for (const { workerId, isDraining } of notice.workers) {
      this.#recall(workerId);
      if (isDraining) this.tell(workerId, "drain", {});
    }
    for (const ready of notice.ready) this.#wakeFor(ready);
    for (const { workerId, jobId, signal } of notice.signals) this.tell(workerId, signal, { job_id: jobId });
  }

  #wakeFor({ queueKey, count }: ReadyJobs): void {
    const queue = this.#factsOf(queueKey);
    let left = count;
    for (const waiter of [...this.#waiters]) {
      if (left <= 0) return;
      if (!fits(queue, waiter.facts)) continue;
      const share = Math.min(left, waiter.capacity);
      left -= share;
      // A set keeps its order: a waiter that is added again has its turn after all others.
      if (this.#waiters.delete(waiter)) this.#waiters.add(waiter);
      waiter.wake({ queueKey, count: share });
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
