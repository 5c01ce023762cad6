import type { Observation } from "../../core/statistics/observation.ts";
import type { CommitNotice, ReadyJobs } from "../event-store.ts";
import type { ClaimedJob } from "../store.ts";

export type NoticeMark = {
  ready: number;
  handedOver: number;
  signals: number;
  workers: number;
  jobs: number;
  observed: number;
};

/** Collects what a transaction must tell others once it is committed. Why: ADR 0008, ADR 0083. */
export class NoticeBuilder {
  #ready: ReadyJobs[] = [];
  #handedOver: CommitNotice["handedOver"] = [];
  #signals: CommitNotice["signals"] = [];
  #workers: CommitNotice["workers"] = [];
  #jobs: string[] = [];
  #observed: Observation[] = [];

  ready(queueKey: string, count: number): void {
    this.#ready.push({ queueKey, count });
  }

  /** What was collected up to now. */
  readySoFar(): ReadyJobs[] {
    return summed(this.#ready);
  }

  /** These jobs were leased to a claim that waits. */
  handOver(claimId: string, claimed: ClaimedJob[]): void {
    this.#handedOver.push({ claimId, claimed });
  }

  /** For queues that are no longer held back by a pause, a quota or a lockdown. */
  released(queues: Iterable<{ key: string; pending: number }>): void {
    for (const { key, pending } of queues) if (pending > 0) this.ready(key, pending);
  }

  signal(workerId: string, jobId: string, signal: "cancel" | "lost"): void {
    this.#signals.push({ workerId, jobId, signal });
  }

  worker(workerId: string, { draining: isDraining } = { draining: false }): void {
    this.#workers.push({ workerId, isDraining });
  }

  job(jobId: string): void {
    this.#jobs.push(jobId);
  }

  observe(observation: Observation): void {
    this.#observed.push(observation);
  }

  mark(): NoticeMark {
    return {
      ready: this.#ready.length,
      handedOver: this.#handedOver.length,
      signals: this.#signals.length,
      workers: this.#workers.length,
      jobs: this.#jobs.length,
      observed: this.#observed.length,
    };
  }

  backTo(mark: NoticeMark): void {
    this.#ready.length = mark.ready;
    this.#handedOver.length = mark.handedOver;
    this.#signals.length = mark.signals;
    this.#workers.length = mark.workers;
    this.#jobs.length = mark.jobs;
    this.#observed.length = mark.observed;
  }

  /** The notice, or null if no claim, worker or watcher is concerned; the builder is empty afterwards. */
  take(previousSeq: number, lastSeq: number): CommitNotice | null {
    const lists = [this.#ready, this.#signals, this.#workers, this.#jobs];
    const silent = lastSeq === previousSeq && lists.every(({ length }) => length === 0);
    const notice = {
      lastSeq,
      ready: summed(this.#ready),
      handedOver: this.#handedOver,
      signals: this.#signals,
      workers: this.#workers,
      jobs: this.#jobs,
      observed: folded(this.#observed),
      isAll: false,
    };
    this.#ready = [];
    this.#handedOver = [];
    this.#signals = [];
    this.#workers = [];
    this.#jobs = [];
    this.#observed = [];
    return silent ? null : notice;
  }
}

function summed(ready: ReadyJobs[]): ReadyJobs[] {
  const counts = new Map<string, number>();
  for (const { queueKey, count } of ready) counts.set(queueKey, (counts.get(queueKey) ?? 0) + count);
  return [...counts].flatMap(([queueKey, count]) => (count > 0 ? [{ queueKey, count }] : []));
}

/** New jobs of one type are counted here, so that a batch of a thousand is one observation and not a thousand. */
function folded(observed: Observation[]): Observation[] {
  const submitted = new Map<string, Extract<Observation, { kind: "submitted" }>>();
  const others: Observation[] = [];
  for (const observation of observed) {
    if (observation.kind !== "submitted") {
      others.push(observation);
      continue;
    }
    const key = `${observation.tenantId} ${observation.type}`;
    const known = submitted.get(key);
    if (known === undefined) submitted.set(key, observation);
    else known.count += observation.count;
  }
  return [...submitted.values(), ...others];
}
