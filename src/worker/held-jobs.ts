import { WritError } from "../core/errors.ts";
import type { StopReason } from "../runners/runner.ts";
import type { Lease } from "../signing/lease.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { AcceptedClaim } from "./verify-claims.ts";

/** One attempt that this worker holds the lease of, from the claim to the last word about it. */
export type HeldJob = {
  readonly key: string;
  readonly claim: AcceptedClaim;
  readonly lease: Lease;
  /** Ends the run; its reason is a StopReason. */
  readonly stop: AbortController;
  /** Takes away what grace the run has. */
  readonly hurry: AbortController;
  /** Nothing that is said about this attempt can still count: shipping and reporting end. */
  readonly gone: AbortController;
  phase: "waiting" | "running" | "ending";
};

export function heldKey(jobId: string, attempt: number): string {
  return `${jobId}:${attempt}`;
}

/** All attempts that the worker holds; the heartbeat renews exactly these. */
export class HeldJobs {
  readonly #heartbeat: Pick<Heartbeat, "hold" | "drop">;
  readonly #jobs = new Map<string, HeldJob>();
  #onEmpty: (() => void)[] = [];

  constructor(heartbeat: Pick<Heartbeat, "hold" | "drop">) {
    this.#heartbeat = heartbeat;
  }

  get size(): number {
    return this.#jobs.size;
  }

  add(claim: AcceptedClaim): HeldJob {
    const { lease } = claim;
    const key = heldKey(lease.job_id, lease.attempt);
    const held: HeldJob = {
      key,
      claim,
      lease,
      stop: new AbortController(),
      hurry: new AbortController(),
      gone: new AbortController(),
      phase: "waiting",
    };
    this.#jobs.set(key, held);
    this.#heartbeat.hold(key, lease);
    return held;
  }

  remove(held: HeldJob): void {
    if (!this.#jobs.delete(held.key)) return;
    this.#heartbeat.drop(held.key);
    if (this.#jobs.size > 0) return;
    for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  get(key: string): HeldJob | undefined {
    return this.#jobs.get(key);
  }

  /** For commands that name only the job. A worker seldom holds two attempts of one, and then both are meant. */
  *ofJob(jobId: string): Generator<HeldJob> {
    for (const held of this.#jobs.values()) if (held.lease.job_id === jobId) yield held;
  }

  all(): HeldJob[] {
    return [...this.#jobs.values()];
  }

  /** Comes when nothing is held any more. */
  whenEmpty(): Promise<void> {
    if (this.#jobs.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }
}

/** Ends an attempt for a reason; the first reason wins. */
export function stopJob(held: HeldJob, reason: StopReason): void {
  held.stop.abort(reason);
}

/**
 * The lease is over. When the hub says so, nothing about the attempt counts any more. When only this worker believes
 * so, because the hub is away, the process must die, but what has already ended may still be accepted.
 */
export function loseJob(held: HeldJob, saidBy: "hub" | "fence"): void {
  if (saidBy === "fence" && held.phase === "ending") return;
  held.stop.abort("lost" satisfies StopReason);
  held.hurry.abort();
  if (saidBy === "hub") giveUpJob(held);
}

/** Nothing more will be said about this attempt. */
export function giveUpJob(held: HeldJob): void {
  held.gone.abort(new WritError("LEASE_LOST", "this attempt does not count any more"));
}
