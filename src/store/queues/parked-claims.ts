import { fits, type QueueFacts } from "../../core/jobs/queue-key.ts";
import type { ClaimInput } from "../store.ts";

/** A claim that found nothing and waits. */
export type Parked = { id: string; input: ClaimInput };

/** More than a hub has workers. A claim beyond it is woken after the commit and looks again. */
const claimsMax = 20_000;
/** Looking through more of them would hold up the transaction; the rest is woken after the commit. */
const lookedAtMax = 1_000;

/**
 * Claims that wait in memory for jobs that a later transaction makes claimable. Nothing is lost when one is forgotten
 * here: a waiting claim is also woken after each commit, looks again and parks again. Why: ADR 0063, ADR 0084.
 */
export class ParkedClaims {
  readonly #claims = new Map<string, ClaimInput>();
  #readyAtMs: number | null = null;

  /** Call it in the act that has looked and found nothing: nothing can become claimable in between. */
  park(id: string, input: ClaimInput): void {
    if (this.#claims.size < claimsMax) this.#claims.set(id, input);
  }

  get isWaiting(): boolean {
    return this.#claims.size > 0;
  }

  has(id: string): boolean {
    return this.#claims.has(id);
  }

  leave(id: string): void {
    this.#claims.delete(id);
  }

  /** A job of this transaction can be claimed at once. */
  noteReady(nowMs: number): void {
    if (this.#claims.size > 0) this.#readyAtMs = Math.max(nowMs, this.#readyAtMs ?? 0);
  }

  /** The time of the transaction, if jobs have become claimable in it; null the next time. */
  takeReadyTime(): number | null {
    const readyAtMs = this.#readyAtMs;
    this.#readyAtMs = null;
    return readyAtMs;
  }

  /** At most `max` claims that may take jobs of this queue, the one that has waited longest first. */
  fitting(queue: QueueFacts, max: number): Parked[] {
    const found: Parked[] = [];
    for (const [id, input] of this.#claims.entries().take(lookedAtMax)) {
      if (found.length >= max) break;
      if (fits(queue, input.worker)) found.push({ id, input });
    }
    return found;
  }
}
