import { randomBytes, randomInt } from "node:crypto";
import { add, budgetParts, nothingSpent, type Spending } from "../../../core/agents/agent-budget.ts";
import { eventTable, type NewEvent } from "../../../core/events.ts";
import type { Effects } from "../../../core/jobs/effects.ts";
import { type JobRecord, type JobState, jobStates } from "../../../core/jobs/job.ts";
import { addSpendingText } from "../../acts/spending-acts.ts";
import { NoticeBuilder } from "../../jobs/notice-builder.ts";
import { sealText } from "../../log/seal-text.ts";
import { storedEvent } from "../../log/stored-event.ts";
import type { Position } from "../claims/claim-floors.ts";
import { toJson } from "../connection/connection.ts";
import { type Place, placeOf } from "../jobs/job-row.ts";
import {
  type EventRow,
  finishGroup,
  type LaneGroup,
  type Limit,
  type OwnerCounts,
  type QueueCounts,
  type WorkerCounts,
} from "./finish-group.ts";
import type { Statement } from "./job-writes.ts";

/** A job as it is stored: where, in which queue, when the hub must act on it, and what its record says. */
export type KeptJob = { job: JobRecord; place: Place; queueId: number; dueAt: number | null };

/** A job as a transaction leaves it. Its place before is null if it is new. What is sent and unchanged is not sent again. */
export type JobWrite = KeptJob & { from: Place | null; before: JobRecord | null; isSent: boolean };

/** The seal of an event covers its number and the hash before it, which only the database knows, when it has the lock. */
const hashMark = randomBytes(32).toString("hex");
const seqMark = randomInt(2 ** 47, 2 ** 48 - 1);

const spendingText = addSpendingText(
  `SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) AS s (tenant_id) ORDER BY tenant_id`,
);

/** Everything that a transaction writes at its end, collected while its acts decide. Why: ADR 0080. */
export class Work {
  readonly notice = new NoticeBuilder();
  readonly events: EventRow[] = [];
  readonly jobs = new Map<number, JobWrite>();
  readonly queues = new Map<number, QueueCounts>();
  readonly turns = new Map<string, number>();
  readonly forgottenWorkers: string[] = [];
  /** Queues in which delayed jobs have become claimable, and from where on. */
  readonly promoted = new Map<number, Position>();
  outputBytes = 0;
  /** Whether jobs are removed: then owners may be left without any. */
  isForgetting = false;
  /** Whether it changes what administrators set: quotas, paused types, lockdowns. */
  isSettings = false;
  /** Whether hubs must hear of it although nothing that they share has changed. */
  isNews = false;
  readonly #states = new Map<JobState, number>();
  readonly #owners = new Map<string, OwnerCounts>();
  readonly #workers = new Map<string, WorkerCounts>();
  readonly #spending = new Map<string, Spending>();
  readonly #limits = new Map<string, Limit>();

  log(event: NewEvent & { jobSeq?: number | null }): void {
    this.events.push(eventRow(event));
  }

  /** Collects a change of a job and everything that follows from it, except the queue-index update. */
  change(kept: KeptJob | null, effects: Effects, queueId: number): KeptJob {
    const { after, readiness, dueAt, events, counts, spending } = effects;
    for (const event of events) this.log(event);
    if (spending !== null) this.#spend(spending);
    if (counts !== null) {
      this.countQueue(queueId, counts);
      if (counts.from !== null) this.countJob(after, counts.from, -1);
      if (counts.to !== null) this.countJob(after, counts.to, 1);
      if (counts.worker !== null) this.#countWorker(counts.worker.id, counts.worker);
    }
    return this.put(kept, { job: after, place: placeOf(after, readiness), queueId, dueAt });
  }

  /** How a job is to be stored; the last word counts. */
  put(kept: KeptJob | null, now: KeptJob): KeptJob {
    const known = this.jobs.get(now.job.seq);
    const from = known === undefined ? (kept?.place ?? null) : known.from;
    const before = known === undefined ? (kept?.job ?? null) : known.before;
    this.jobs.set(now.job.seq, { ...now, from, before, isSent: false });
    return now;
  }

  /** Counts a job that has come into a state, or left it. */
  countJob(owner: { tenantId: string; userId: string }, state: JobState, difference: 1 | -1): void {
    this.#states.set(state, (this.#states.get(state) ?? 0) + difference);
    const key = JSON.stringify([owner.tenantId, owner.userId]);
    let counts = this.#owners.get(key);
    if (counts === undefined) {
      counts = { tenantId: owner.tenantId, userId: owner.userId, ...noJobs };
      this.#owners.set(key, counts);
    }
    counts[state] += difference;
  }

  countQueue(queueId: number, { jobs, pending, active }: QueueCounts): void {
    const before = this.queues.get(queueId) ?? { jobs: 0, pending: 0, active: 0 };
    this.queues.set(queueId, {
      jobs: before.jobs + jobs,
      pending: before.pending + pending,
      active: before.active + active,
    });
  }

  #spend({ tenantId, day, spent }: Spending): void {
    const before = this.#spending.get(tenantId)?.spent ?? nothingSpent;
    this.#spending.set(tenantId, { tenantId, day, spent: add(before, spent) });
  }

  /** Rows of tenants are locked in the same order by all transactions. */
  spending(): Statement | null {
    const rows = [...this.#spending.values()].sort((one, other) => (one.tenantId < other.tenantId ? -1 : 1));
    if (rows.length === 0) return null;
    const values = [
      rows.map(({ tenantId }) => tenantId),
      rows.map(({ day }) => day),
      ...budgetParts.map((part) => rows.map(({ spent }) => spent[part])),
    ];
    return { text: spendingText, values };
  }

  #countWorker(id: string, { completed, failed }: WorkerCounts): void {
    if (completed + failed === 0) return;
    const before = this.#workers.get(id) ?? { completed: 0, failed: 0 };
    this.#workers.set(id, { completed: before.completed + completed, failed: before.failed + failed });
  }

  /** The commit fails if the tenant has more than this then. */
  limit(tenantId: string, limit: Limit): void {
    this.#limits.set(tenantId, { ...this.#limits.get(tenantId), ...limit });
  }

  /** The call of `finish_group`; null if there is nothing that others share. */
  finish(lane: LaneGroup | null): Statement | null {
    if (this.#isNothing()) return null;
    return finishGroup({
      events: this.events,
      marks: { hash: hashMark, seq: String(seqMark) },
      sums: [...jobStates.map((state) => this.#states.get(state) ?? 0), this.outputBytes],
      queues: this.queues,
      owners: this.#owners,
      turns: this.turns,
      workers: this.#workers,
      limits: this.#limits,
      lane,
      seldom: this.#seldom(),
    });
  }

  #isNothing(): boolean {
    const lists = [this.queues, this.#owners, this.turns, this.#workers, this.#limits, this.#states];
    return (
      !this.isNews &&
      this.events.length === 0 &&
      this.outputBytes === 0 &&
      this.#seldom() === null &&
      lists.every(({ size }) => size === 0)
    );
  }

  #seldom(): string | null {
    if (!this.isSettings && !this.isForgetting && this.forgottenWorkers.length === 0) return null;
    return toJson({
      settings: this.isSettings || undefined,
      forgotten_jobs: this.isForgetting || undefined,
      forgotten_workers: this.forgottenWorkers.length === 0 ? undefined : this.forgottenWorkers,
    });
  }
}

const noJobs = { pending: 0, assigned: 0, running: 0, completed: 0, failed: 0, quarantined: 0 };

function eventRow(event: NewEvent & { jobSeq?: number | null }): EventRow {
  const stored = storedEvent(event, seqMark);
  const { severity } = eventTable[event.event];
  return {
    ts: stored.ts,
    event: stored.event,
    tenant_id: stored.tenantId,
    job_id: stored.jobId,
    owner_id: stored.ownerId,
    job_seq: stored.jobSeq,
    details: stored.details,
    origin: stored.origin,
    severity,
    seal: sealText(stored, { severity, prevHash: hashMark }),
  };
}
