import { WritError } from "../../core/errors.ts";
import { onDisconnectOf } from "../../core/jobs/document.ts";
import type { StopReason } from "../../runners/runner.ts";
import type { Lease } from "../../signing/lease.ts";
import type { Heartbeat } from "../hub/heartbeat.ts";
import type { AcceptedClaim } from "./verify-claims.ts";

/** One attempt whose lease this worker holds, from the claim to the last report about it. */
export type HeldJob = {
  readonly key: string;
  readonly claim: AcceptedClaim;
  readonly lease: Lease;
  /** Aborted to end the run; its reason is a StopReason. */
  readonly stop: AbortController;
  /** Aborted to end the grace period of the run. */
  readonly hurry: AbortController;
  /** Aborted when the hub accepts no more reports about this attempt: sending and reporting end. */
  readonly gone: AbortController;
  phase: "waiting" | "running" | "ending";
  /** When this worker received it. */
  readonly claimedAtMs: number;
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

  add(claim: AcceptedClaim, claimedAtMs: number): HeldJob {
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
      claimedAtMs,
    };
    this.#jobs.set(key, held);
    this.#heartbeat.hold(key, lease, onDisconnectOf(claim.document));
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

  /**
   * All attempts of a job. There are two only if the hub was out of reach and this worker has claimed the job again.
   */
  *ofJob(jobId: string): Generator<HeldJob> {
    for (const held of this.#jobs.values()) if (held.lease.job_id === jobId) yield held;
  }

  all(): HeldJob[] {
    return [...this.#jobs.values()];
  }

  /** Resolves when no attempt is held any more. */
  whenEmpty(): Promise<void> {
    if (this.#jobs.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }
}

/** Ends older attempts of a job whose newer attempt was claimed, because the hub has given them up. */
export function loseOlderAttempts(jobs: HeldJobs, { job_id, attempt }: Lease): void {
  // Most jobs need only one attempt, and a search through all held attempts costs time.
  if (attempt === 1) return;
  for (const held of jobs.ofJob(job_id)) if (held.lease.attempt < attempt) loseJob(held, "hub");
}

/** Ends an attempt for a reason; the first reason wins. */
export function stopJob(held: HeldJob, reason: StopReason): void {
  held.stop.abort(reason);
}

/**
 * Handles the end of the lease. If the hub reports it, no report about the attempt is accepted any more. If only this
 * worker assumes it, because the hub is away, the process must die, but an attempt that has already ended may still be
 * accepted.
 */
export function loseJob(held: HeldJob, saidBy: "hub" | "fence"): void {
  if (saidBy === "fence" && held.phase === "ending") return;
  held.stop.abort("lost" satisfies StopReason);
  held.hurry.abort();
  if (saidBy === "hub") giveUpJob(held);
}

/** Ends all reports about this attempt. */
export function giveUpJob(held: HeldJob): void {
  held.gone.abort(new WritError("LEASE_LOST", "this attempt is no longer valid"));
}
