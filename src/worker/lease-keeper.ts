import type { z } from "zod";
import type { heartbeatAnswer } from "../contract/worker-shapes.ts";
import { withJitter } from "../runtime/back-off.ts";
import type { Clock, Timer } from "../runtime/clock.ts";

/** An attempt as the heartbeat thread knows it. */
export type KeptLease = {
  key: string;
  jobId: string;
  attempt: number;
  token: string;
  /** The process group that dies with the lease; 0 if there is none. */
  pid: number;
  /** When the lease was last known to be renewed, by the machine's monotonic clock. */
  renewedAtMs: number;
  leaseMs: number;
};

export type HeartbeatAnswer = z.output<typeof heartbeatAnswer>;

export type KeeperMessage =
  | { kind: "answer"; cancel: string[]; lost: string[]; drain: boolean; leaseMs: number }
  | { kind: "fenced"; keys: string[] }
  | { kind: "failed"; code: string; message: string };

type KeeperDeps = {
  clock: Clock;
  random: () => number;
  heartbeatMs: number;
  send(
    jobs: { job_id: string; attempt: number; token: string }[],
    timeoutMs: number,
  ): Promise<HeartbeatAnswer>;
  killGroup(pid: number): void;
  tell(message: KeeperMessage): void;
};

const timeoutMsMax = 10_000;
const retryMsMax = 1_000;

/**
 * Renews leases, and kills the processes of those that could not be renewed in time: the hub gives such a job to
 * another worker, and two processes of one job must never run. The margin is a sixth of the lease.
 */
export class LeaseKeeper {
  readonly #deps: KeeperDeps;
  readonly #leases = new Map<string, KeptLease & { isFenced: boolean }>();
  #leaseMs = 60_000;
  #beatTimer: Timer | undefined;
  #beatAtMs = 0;
  #fenceTimer: Timer | undefined;
  #isBeating = false;
  #isStopped = false;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#plan(0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#beatTimer?.cancel();
    this.#fenceTimer?.cancel();
  }

  update(change: { hold: KeptLease[]; drop: string[]; pids: [key: string, pid: number][] }): void {
    for (const key of change.drop) this.#leases.delete(key);
    for (const lease of change.hold) this.#leases.set(lease.key, { ...lease, isFenced: false });
    for (const [key, pid] of change.pids) {
      const lease = this.#leases.get(key);
      if (lease === undefined) continue;
      lease.pid = pid;
      // Started although the time is over: it cannot have known that yet.
      if (lease.isFenced) this.#kill(lease);
    }
    this.#planFence();
    this.#hasten();
  }

  async #beat(): Promise<void> {
    const { clock, send, tell } = this.#deps;
    const sentAtMs = clock.monotonicMs();
    const sent = [...this.#leases.values()];
    this.#isBeating = true;
    try {
      const jobs = sent.map(({ jobId, attempt, token }) => ({ job_id: jobId, attempt, token }));
      const answer = await send(jobs, Math.max(500, Math.min(timeoutMsMax, this.#leaseMs / 4)));
      this.#leaseMs = answer.lease_ms;
      const lost = this.#renew(sent, answer, sentAtMs);
      const cancel = keysOf(sent, answer.cancel);
      tell({
        kind: "answer",
        cancel,
        lost: lost.map(({ key }) => key),
        drain: answer.drain,
        leaseMs: answer.lease_ms,
      });
      // Reported first, so that whoever sees the process end already knows why.
      for (const lease of lost) this.#kill(lease);
      this.#plan(this.#intervalMs());
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      tell({ kind: "failed", code: code ?? "INTERNAL", message });
      this.#plan(withJitter(Math.min(retryMsMax, this.#leaseMs / 12), this.#deps.random));
    } finally {
      this.#isBeating = false;
      this.#planFence();
    }
  }

  /**
   * Returns the leases that are lost. The response lists jobs: it means the attempts that were sent, not one claimed
   * meanwhile.
   */
  #renew(sent: KeptLease[], answer: HeartbeatAnswer, sentAtMs: number): KeptLease[] {
    const lostJobs = new Set(answer.lost);
    const lost: KeptLease[] = [];
    for (const lease of sent) {
      const current = this.#leases.get(lease.key);
      if (current === undefined) continue;
      if (lostJobs.has(lease.jobId)) {
        lost.push(current);
        continue;
      }
      // From when the call was sent, not from when the response arrived, because the hub's own time began in between.
      current.renewedAtMs = sentAtMs;
      current.leaseMs = answer.lease_ms;
      current.isFenced = false;
    }
    return lost;
  }

  #intervalMs(): number {
    let leaseMs = this.#leaseMs;
    for (const lease of this.#leases.values()) leaseMs = Math.min(leaseMs, lease.leaseMs);
    return Math.min(this.#deps.heartbeatMs, leaseMs / 3);
  }

  /** A lease that is shorter than those before it may need its renewal sooner than planned. */
  #hasten(): void {
    if (this.#isBeating || this.#leases.size === 0) return;
    const inMs = this.#intervalMs();
    if (this.#beatAtMs > this.#deps.clock.monotonicMs() + inMs) this.#plan(inMs);
  }

  #plan(inMs: number): void {
    if (this.#isStopped) return;
    this.#beatTimer?.cancel();
    this.#beatAtMs = this.#deps.clock.monotonicMs() + inMs;
    this.#beatTimer = this.#deps.clock.setTimer(() => void this.#beat(), inMs);
  }

  #planFence(): void {
    this.#fenceTimer?.cancel();
    if (this.#isStopped) return;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const lease of this.#leases.values()) {
      if (!lease.isFenced) earliestMs = Math.min(earliestMs, fenceAtMs(lease));
    }
    if (earliestMs === Number.POSITIVE_INFINITY) return;
    const inMs = earliestMs - this.#deps.clock.monotonicMs();
    this.#fenceTimer = this.#deps.clock.setTimer(() => this.#fence(), Math.max(0, inMs));
  }

  #fence(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const due = [...this.#leases.values()].filter((lease) => !lease.isFenced && fenceAtMs(lease) <= nowMs);
    for (const lease of due) lease.isFenced = true;
    if (due.length > 0) this.#deps.tell({ kind: "fenced", keys: due.map(({ key }) => key) });
    for (const lease of due) this.#kill(lease);
    this.#planFence();
  }

  #kill({ pid }: KeptLease): void {
    if (pid > 0) this.#deps.killGroup(pid);
  }
}

function fenceAtMs({ renewedAtMs, leaseMs }: KeptLease): number {
  return renewedAtMs + leaseMs - leaseMs / 6;
}

function keysOf(sent: KeptLease[], jobIds: string[]): string[] {
  if (jobIds.length === 0) return [];
  const wanted = new Set(jobIds);
  return sent.filter(({ jobId }) => wanted.has(jobId)).map(({ key }) => key);
}
