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
  /** Ends the run; its reason is a StopReason. */
  readonly stop: AbortController;
  /** Ends the grace period of the run. */
  readonly hurry: AbortController;
  /** Reports about this attempt are no longer accepted: sending and reporting end. */
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

  /** All attempts of a job. There are rarely two: when the hub was out of reach, and the job has come back since. */
  *ofJob(jobId: string): Generator<HeldJob> {
    for (const held of this.#jobs.values()) if (held.lease.job_id === jobId) yield held;
  }

  all(): HeldJob[] {
    return [...this.#jobs.values()];
  }

  /** Resolves when nothing is held any more. */
  whenEmpty(): Promise<void> {
    if (this.#jobs.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }
}

/** A newer attempt of the job was claimed, so the hub has given up the older ones. */
export function loseOlderAttempts(jobs: HeldJobs, { job_id, attempt }: Lease): void {
  // Most jobs need only one, and looking through all that are held is not free.
  if (attempt === 1) return;
  for (const held of jobs.ofJob(job_id)) if (held.lease.attempt < attempt) loseJob(held, "hub");
}

/** Ends an attempt for a reason; the first reason wins. */
export function stopJob(held: HeldJob, reason: StopReason): void {
  held.stop.abort(reason);
}

/**
 * The lease has ended. If the hub says so, no report about the attempt is accepted any more. If only this worker
 * assumes so, because the hub is away, the process must die, but what has already ended may still be accepted.
 */
export function loseJob(held: HeldJob, saidBy: "hub" | "fence"): void {
  if (saidBy === "fence" && held.phase === "ending") return;
  held.stop.abort("lost" satisfies StopReason);
  held.hurry.abort();
  if (saidBy === "hub") giveUpJob(held);
}

/** Nothing more will be reported about this attempt. */
export function giveUpJob(held: HeldJob): void {
  held.gone.abort(new WritError("LEASE_LOST", "this attempt is no longer valid"));
}
