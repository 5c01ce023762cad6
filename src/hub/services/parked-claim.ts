import type { WorkerFacts } from "../../core/jobs/queue-key.ts";
import { type WaitBounds, WakeUp } from "../../runtime/clock/wake-up.ts";
import type { ClaimedJob, ReadyJobs } from "../../store/store.ts";
import type { Waiter } from "./dispatcher.ts";

/**
 * A claim between its looks into the store. It is woken for jobs that it may take, and knows which it has not seen; or
 * the store leases it jobs in the very transaction that makes them claimable. Why: ADR 0063, ADR 0084.
 */
export class ParkedClaim implements Waiter {
  static #made = 0;
  /** What the store, which belongs to this process, knows it by while it waits there. */
  readonly id = `claim ${++ParkedClaim.#made}`;
  readonly facts: WorkerFacts;
  readonly capacity: number;
  readonly #wakeUp = new WakeUp();
  readonly #unseen = new Map<string, number>();
  #given: ClaimedJob[] = [];
  #isRecalled = false;

  constructor(facts: WorkerFacts, capacity: number) {
    this.facts = facts;
    this.capacity = capacity;
  }

  wake(ready?: ReadyJobs): void {
    if (ready !== undefined) {
      this.#unseen.set(ready.queueKey, (this.#unseen.get(ready.queueKey) ?? 0) + ready.count);
    }
    this.#wakeUp.wake();
  }

  /** These jobs are leased to its worker. */
  give(claimed: ClaimedJob[]): void {
    this.#given.push(...claimed);
    this.#wakeUp.wake();
  }

  get hasGiven(): boolean {
    return this.#given.length > 0;
  }

  /** What it was given since the last call. */
  takeGiven(): ClaimedJob[] {
    const given = this.#given;
    this.#given = [];
    return given;
  }

  /** Its worker has changed, so it returns with what it has, and the worker claims again as what it is now. */
  recall(): void {
    this.#isRecalled = true;
    this.#wakeUp.wake();
  }

  get isRecalled(): boolean {
    return this.#isRecalled;
  }

  /** Call it before each look, which finds everything that the claim was woken for so far. */
  beginLook(): void {
    this.#unseen.clear();
    this.#wakeUp.clear();
  }

  wait(bounds: WaitBounds): Promise<boolean> {
    return this.#wakeUp.wait(bounds);
  }

  /** Jobs that it was woken for since its last look began. When it leaves, somebody else has to be told about them. */
  get unseen(): ReadyJobs[] {
    return [...this.#unseen].map(([queueKey, count]) => ({ queueKey, count }));
  }
}
