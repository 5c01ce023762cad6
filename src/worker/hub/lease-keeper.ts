import type { z } from "zod";
import type { heartbeatAnswer } from "../../contract/shapes/worker-shapes.ts";
import type { DisconnectAct } from "../../core/jobs/document.ts";
import { withJitter } from "../../runtime/clock/back-off.ts";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import type { Usage } from "../../sandbox/sandbox.ts";

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
  onDisconnect: DisconnectAct;
  /** The last known usage of its process. */
  usage?: Usage | undefined;
};

export type LeaseChange = {
  hold?: KeptLease[];
  drop?: string[];
  pids?: [key: string, pid: number][];
  usages?: [key: string, usage: Usage][];
};

/** `overdue`: the lease could not be renewed in time, and its job continues. `fenced`: its job is ended. */
type LeaseState = "renewed" | "overdue" | "fenced";
type HeldLease = KeptLease & { state: LeaseState };

export type HeartbeatAnswer = z.output<typeof heartbeatAnswer>;

export type KeeperMessage =
  /** `sentAtMs` is when the heartbeat was sent, by the machine's monotonic clock. */
  | {
      kind: "answer";
      cancel: string[];
      lost: string[];
      renewed: string[];
      drain: boolean;
      leaseMs: number;
      sentAtMs: number;
    }
  | { kind: "overdue"; keys: string[] }
  | { kind: "fenced"; keys: string[] }
  | { kind: "failed"; code: string; message: string };

type KeeperDeps = {
  clock: Clock;
  random: () => number;
  heartbeatMs: number;
  /** How long jobs continue without a hub, counted from the last renewal. */
  hubAwayMs: number;
  send(
    jobs: { job_id: string; attempt: number; token: string; usage?: Usage | undefined }[],
    timeoutMs: number,
  ): Promise<HeartbeatAnswer>;
  killGroup(pid: number): void;
  tell(message: KeeperMessage): void;
};

type Renewal = { renewed: string[]; lost: KeptLease[] };

const timeoutMsMax = 10_000;
const retryMsMax = 1_000;

/**
 * Renews leases, and decides what happens to jobs whose lease could not be renewed in time. By then a running hub gives
 * such a job to another worker, but a hub that was away grants a new lease when it is back.
 *
 * A job that must never run twice at the same time is therefore killed a sixth of the lease before its end. Any other
 * job continues until a hub answers, which renews the lease or reports it lost; without a hub it is killed after
 * `hubAwayMs`. Why: ADR 0007, ADR 0033.
 */
export class LeaseKeeper {
  readonly #deps: KeeperDeps;
  readonly #leases = new Map<string, HeldLease>();
  #leaseMs = 60_000;
  #beatTimer: Timer | undefined;
  #beatAtMs = 0;
  #fenceTimer: Timer | undefined;
  #isBeating = false;
  #isHurried = false;
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

  /** Sends the next heartbeat now, because there is news for the hub. */
  hurry(): void {
    if (this.#isBeating) this.#isHurried = true;
    else this.#plan(0);
  }

  update({ hold = [], drop = [], pids = [], usages = [] }: LeaseChange): void {
    for (const key of drop) this.#leases.delete(key);
    for (const lease of hold) this.#leases.set(lease.key, { ...lease, state: "renewed" });
    for (const [key, pid] of pids) {
      const lease = this.#leases.get(key);
      if (lease === undefined) continue;
      lease.pid = pid;
      // The process was started after the fence, because the main thread did not know of it yet.
      if (lease.state === "fenced") this.#kill(lease);
    }
    for (const [key, usage] of usages) {
      const lease = this.#leases.get(key);
      if (lease !== undefined) lease.usage = usage;
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
      const jobs = sent.map(({ jobId, attempt, token, usage }) => ({ job_id: jobId, attempt, token, usage }));
      const answer = await send(jobs, Math.max(500, Math.min(timeoutMsMax, this.#shortestLeaseMs() / 4)));
      this.#leaseMs = answer.lease_ms;
      const { renewed, lost } = this.#renew(sent, answer, sentAtMs);
      const cancel = keysOf(sent, answer.cancel);
      tell({
        kind: "answer",
        cancel,
        lost: lost.map(({ key }) => key),
        renewed,
        drain: answer.drain,
        leaseMs: answer.lease_ms,
        sentAtMs,
      });
      // Reported first, so that the main thread knows the reason when the process ends.
      for (const lease of lost) this.#kill(lease);
      this.#plan(this.#isHurried ? 0 : this.#intervalMs());
      this.#isHurried = false;
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      tell({ kind: "failed", code: code ?? "INTERNAL", message });
      this.#plan(withJitter(Math.min(retryMsMax, this.#shortestLeaseMs() / 12), this.#deps.random));
    } finally {
      this.#isBeating = false;
      this.#planFence();
    }
  }

  /**
   * Returns the keys that are renewed, and the leases that are lost. The response lists jobs and concerns the attempts
   * that were sent, not one that was claimed meanwhile. If two attempts of a job were sent, the older one is lost for
   * certain; the next heartbeat, without it, decides about the other.
   */
  #renew(sent: KeptLease[], answer: HeartbeatAnswer, sentAtMs: number): Renewal {
    const lostJobs = new Set(answer.lost);
    const lost: KeptLease[] = [];
    const renewed: string[] = [];
    const undecided = lostJobs.size === 0 ? none : newestOfSeveral(sent);
    for (const lease of sent) {
      const current = this.#leases.get(lease.key);
      if (current === undefined) continue;
      if (lostJobs.has(lease.jobId)) {
        if (!undecided.has(lease.key)) lost.push(current);
        continue;
      }
      // Counted from the call and not from the response, because the hub's lease began in between.
      current.renewedAtMs = sentAtMs;
      current.leaseMs = answer.lease_ms;
      current.state = "renewed";
      renewed.push(lease.key);
    }
    return { renewed, lost };
  }

  #intervalMs(): number {
    return Math.min(this.#deps.heartbeatMs, this.#shortestLeaseMs() / 3);
  }

  #shortestLeaseMs(): number {
    let leaseMs = this.#leaseMs;
    for (const lease of this.#leases.values()) leaseMs = Math.min(leaseMs, lease.leaseMs);
    return leaseMs;
  }

  /** Brings the next renewal forward for a lease that is shorter than the others. */
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
    for (const lease of this.#leases.values()) earliestMs = Math.min(earliestMs, this.#dueAtMs(lease));
    if (earliestMs === Number.POSITIVE_INFINITY) return;
    const inMs = earliestMs - this.#deps.clock.monotonicMs();
    this.#fenceTimer = this.#deps.clock.setTimer(() => this.#fence(), Math.max(0, inMs));
  }

  #fence(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const due = [...this.#leases.values()].filter((lease) => this.#dueAtMs(lease) <= nowMs);
    const fenced = due.filter((lease) => this.#fenceAtMs(lease) <= nowMs);
    const overdue = due.filter((lease) => this.#fenceAtMs(lease) > nowMs);
    this.#become("overdue", overdue);
    this.#become("fenced", fenced);
    for (const lease of fenced) this.#kill(lease);
    this.#planFence();
  }

  #become(state: "overdue" | "fenced", leases: HeldLease[]): void {
    for (const lease of leases) lease.state = state;
    if (leases.length > 0) this.#deps.tell({ kind: state, keys: leases.map(({ key }) => key) });
  }

  /** When the state of a lease changes next, without a renewal. */
  #dueAtMs(lease: HeldLease): number {
    if (lease.state === "fenced") return Number.POSITIVE_INFINITY;
    return lease.state === "renewed" ? overdueAtMs(lease) : this.#fenceAtMs(lease);
  }

  #fenceAtMs(lease: KeptLease): number {
    if (lease.onDisconnect === "stop") return overdueAtMs(lease);
    return Math.max(overdueAtMs(lease), lease.renewedAtMs + this.#deps.hubAwayMs);
  }

  #kill({ pid }: KeptLease): void {
    if (pid > 0) this.#deps.killGroup(pid);
  }
}

const none: ReadonlySet<string> = new Set();

/** The newest attempt of each job of which several attempts are held. */
function newestOfSeveral(leases: KeptLease[]): ReadonlySet<string> {
  const newest = new Set<string>();
  for (const ofJob of Map.groupBy(leases, ({ jobId }) => jobId).values()) {
    if (ofJob.length > 1) newest.add(ofJob.reduce((a, b) => (a.attempt > b.attempt ? a : b)).key);
  }
  return newest;
}

/** A sixth of the lease before its end. */
export function overdueAtMs({ renewedAtMs, leaseMs }: KeptLease): number {
  return renewedAtMs + leaseMs - leaseMs / 6;
}

function keysOf(sent: KeptLease[], jobIds: string[]): string[] {
  if (jobIds.length === 0) return [];
  const wanted = new Set(jobIds);
  return sent.filter(({ jobId }) => wanted.has(jobId)).map(({ key }) => key);
}
