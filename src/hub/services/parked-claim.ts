import type { WorkerFacts } from "../../core/queue-key.ts";
import { type WaitBounds, WakeUp } from "../../runtime/wake-up.ts";
import type { ReadyJobs } from "../../store/store.ts";
import type { Waiter } from "./dispatcher.ts";

/** A claim between its looks into the store. It is woken for jobs that it may take, and knows which it has not seen. */
export class ParkedClaim implements Waiter {
  readonly facts: WorkerFacts;
  readonly capacity: number;
  readonly #wakeUp = new WakeUp();
  readonly #unseen = new Map<string, number>();

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
