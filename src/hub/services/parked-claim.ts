import type { WorkerFacts } from "../../core/jobs/queue-key.ts";
import { type WaitBounds, WakeUp } from "../../runtime/clock/wake-up.ts";
import type { ReadyJobs } from "../../store/event-store.ts";
import type { ClaimedJob } from "../../store/store.ts";
import type { Waiter } from "./dispatcher.ts";

/**
 * A claim between its looks into the store. It is woken for jobs that it may take, and remembers those that it has not
 * seen; or the store leases jobs to it in the transaction that makes them claimable. Why: ADR 0063, ADR 0084.
 */
export class ParkedClaim implements Waiter {
  static #made = 0;
  /** Its id while it is parked in the store of this process. */
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

  /** The jobs that it was given since the last call. */
  takeGiven(): ClaimedJob[] {
    const given = this.#given;
    this.#given = [];
    return given;
  }

  /**
   * Its worker has changed: the claim returns with the jobs that it has, and the worker claims again with its new
   * facts.
   */
  recall(): void {
    this.#isRecalled = true;
    this.#wakeUp.wake();
  }

  get isRecalled(): boolean {
    return this.#isRecalled;
  }

  /** Call it before each look, which will find all jobs that the claim was woken for so far. */
  beginLook(): void {
    this.#unseen.clear();
    this.#wakeUp.clear();
  }

  wait(bounds: WaitBounds): Promise<boolean> {
    return this.#wakeUp.wait(bounds);
  }

  /** Jobs that it was woken for since its last look began. When it leaves, another claim has to be woken for them. */
  get unseen(): ReadyJobs[] {
    return [...this.#unseen].map(([queueKey, count]) => ({ queueKey, count }));
  }
}
