import { parseQueueKey, type QueueFacts, type WorkerFacts } from "../../core/jobs/queue-key.ts";
import type { Quota } from "../../core/jobs/quota.ts";
import { type KindOfWorker, WaitingQueues } from "./waiting-queues.ts";

/** A claimable job. */
export type Candidate = { seq: number; priority: number };

export type Queue = {
  readonly id: number;
  readonly key: string;
  readonly facts: QueueFacts;
  readonly tenant: Tenant;
  pending: number;
  active: number;
  jobs: number;
  /** Its best claimable job; null if it has none, undefined if that is not known. */
  front: Candidate | null | undefined;
};

export type Tenant = {
  readonly id: string;
  readonly queues: Set<Queue>;
  /** Those that hold pending jobs. */
  readonly waiting: WaitingQueues;
  turn: number;
  pending: number;
  active: number;
};

type QueueCounts = Pick<Queue, "jobs" | "pending" | "active">;
export type QueueRow = Pick<Queue, "id" | "key" | "pending" | "active" | "jobs">;
/** What a database stores of this. */
type BookRows = {
  queues: QueueRow[];
  turns: { tenantId: string; turn: number }[];
  pausedTypes: string[];
  quotas: { tenantId: string; quota: Quota }[];
};

/**
 * The queues and tenants with their counters, kept in memory: claims match workers against this book and never against
 * rows. It does not access a database: a driver fills it, writes what `takeChanges` returns before each commit, and
 * undoes a failed act step by step. Why: ADR 0022, ADR 0031.
 */
export class QueueBook {
  readonly #byKey = new Map<string, Queue>();
  readonly #byId = new Map<number, Queue>();
  readonly #tenants = new Map<string, Tenant>();
  /** Those with pending jobs. */
  readonly #waitingTenants = new Set<Tenant>();
  readonly #changedQueues = new Set<Queue>();
  readonly #changedTenants = new Set<Tenant>();
  #undo: (() => void)[] = [];
  readonly #pausedTypes: Set<string>;
  readonly #quotas: Map<string, Quota>;

  constructor({ queues, turns, pausedTypes, quotas }: BookRows) {
    for (const row of queues) this.#enter(row);
    for (const { tenantId, turn } of turns) this.tenant(tenantId).turn = turn;
    this.#pausedTypes = new Set(pausedTypes);
    this.#quotas = new Map(quotas.map(({ tenantId, quota }) => [tenantId, quota]));
  }

  byId(id: number): Queue | undefined {
    return this.#byId.get(id);
  }

  byKey(key: string): Queue | undefined {
    return this.#byKey.get(key);
  }

  all(): Queue[] {
    return [...this.#byKey.values()];
  }

  tenant(id: string): Tenant {
    let tenant = this.#tenants.get(id);
    if (tenant === undefined) {
      tenant = { id, queues: new Set(), waiting: new WaitingQueues(), turn: 0, pending: 0, active: 0 };
      this.#tenants.set(id, tenant);
    }
    return tenant;
  }

  /** Adds a new queue. */
  enter(row: QueueRow): Queue {
    const queue = this.#enter(row);
    this.#undo.push(() => this.#leave(queue));
    return queue;
  }

  /** Removes a queue that no job refers to any more. */
  leave(queue: Queue): void {
    this.#leave(queue);
    this.#undo.push(() => this.#changedQueues.add(this.#enter(queue)));
  }

  adjust(queue: Queue, { jobs, pending, active }: QueueCounts): void {
    this.#count(queue, { jobs, pending, active });
    this.#changedQueues.add(queue);
    this.#undo.push(() => this.#count(queue, { jobs: -jobs, pending: -pending, active: -active }));
  }

  /** Sends the tenant to the end of the line. */
  served(tenant: Tenant, turn: number): void {
    const before = tenant.turn;
    tenant.turn = turn;
    this.#changedTenants.add(tenant);
    this.#undo.push(() => {
      tenant.turn = before;
    });
  }

  /** The tenants with pending jobs that such a worker may serve, in the order of their turns. */
  line({ tenantId }: Pick<WorkerFacts, "tenantId">): Tenant[] {
    if (tenantId !== null) return [this.tenant(tenantId)].filter(({ pending }) => pending > 0);
    return [...this.#waitingTenants].sort((a, b) => a.turn - b.turn);
  }

  /** The tenant's queues that such a worker may claim from, and that hold pending jobs. */
  claimable(tenant: Tenant, worker: KindOfWorker): Queue[] {
    const queues = tenant.waiting.matching(worker);
    return this.#pausedTypes.size === 0 ? queues : queues.filter(({ facts }) => !this.isPaused(facts.type));
  }

  /** A driver has found out which job is the front of a queue. */
  setFront(queue: Queue, front: Queue["front"]): void {
    queue.front = front;
    this.#undo.push(() => {
      queue.front = undefined;
    });
  }

  /** A job of the queue can be claimed now. */
  nowReady(queue: Queue, { seq, priority }: Candidate): void {
    const { front } = queue;
    if (front === undefined) return;
    if (front === null || isBetter({ seq, priority }, front)) this.setFront(queue, { seq, priority });
  }

  /** A job of the queue cannot be claimed, or can no longer. */
  notReady(queue: Queue, seq: number): void {
    if (queue.front?.seq === seq) this.setFront(queue, undefined);
  }

  pausedTypes(): string[] {
    return [...this.#pausedTypes];
  }

  isPaused(type: string): boolean {
    return this.#pausedTypes.has(type);
  }

  setPaused(type: string, paused: boolean): void {
    const before = this.isPaused(type);
    const put = (isPaused: boolean) => {
      if (isPaused) this.#pausedTypes.add(type);
      else this.#pausedTypes.delete(type);
    };
    put(paused);
    this.#undo.push(() => put(before));
  }

  quota(tenantId: string): Quota {
    return this.#quotas.get(tenantId) ?? {};
  }

  /** Tenants that have a quota or jobs, by their ids. */
  usages(): { tenantId: string; quota: Quota; pending: number; active: number }[] {
    const withJobs = [...this.#tenants.values()].filter(({ queues }) => queues.size > 0);
    const ids = new Set([...this.#quotas.keys(), ...withJobs.map(({ id }) => id)]);
    return [...ids].sort().map((tenantId) => {
      const { pending = 0, active = 0 } = this.#tenants.get(tenantId) ?? {};
      return { tenantId, quota: this.quota(tenantId), pending, active };
    });
  }

  setQuota(tenantId: string, quota: Quota): void {
    const before = this.quota(tenantId);
    this.#quotas.set(tenantId, quota);
    this.#undo.push(() => this.#quotas.set(tenantId, before));
  }

  mark(): number {
    return this.#undo.length;
  }

  backTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()!();
  }

  /** What a driver must write before it commits. After this, nothing can be undone. */
  takeChanges(): { queues: Queue[]; tenants: Tenant[] } {
    const changes = { queues: [...this.#changedQueues], tenants: [...this.#changedTenants] };
    this.#changedQueues.clear();
    this.#changedTenants.clear();
    this.#undo = [];
    return changes;
  }

  #enter(row: QueueRow): Queue {
    const facts = parseQueueKey(row.key);
    const tenant = this.tenant(facts.tenant_id);
    const queue: Queue = { ...row, facts, tenant, front: row.jobs === 0 ? null : undefined };
    this.#byKey.set(row.key, queue);
    this.#byId.set(row.id, queue);
    tenant.queues.add(queue);
    tenant.pending += queue.pending;
    tenant.active += queue.active;
    this.#noteWaiting(queue);
    return queue;
  }

  #leave(queue: Queue): void {
    this.#byKey.delete(queue.key);
    if (this.#byId.get(queue.id) === queue) this.#byId.delete(queue.id);
    const { tenant } = queue;
    tenant.queues.delete(queue);
    tenant.pending -= queue.pending;
    tenant.active -= queue.active;
    this.#changedQueues.delete(queue);
    tenant.waiting.delete(queue);
    if (tenant.pending === 0) this.#waitingTenants.delete(tenant);
  }

  #count(queue: Queue, { jobs, pending, active }: QueueCounts): void {
    queue.jobs += jobs;
    queue.pending += pending;
    queue.active += active;
    queue.tenant.pending += pending;
    queue.tenant.active += active;
    this.#noteWaiting(queue);
  }

  #noteWaiting(queue: Queue): void {
    const { tenant } = queue;
    if (queue.pending > 0) tenant.waiting.add(queue);
    else tenant.waiting.delete(queue);
    if (tenant.pending > 0) this.#waitingTenants.add(tenant);
    else this.#waitingTenants.delete(tenant);
  }
}

/** The higher priority first, then the older job. */
export function isBetter(a: Candidate, b: Candidate): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.seq < b.seq);
}
