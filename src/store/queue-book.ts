import { fits, parseQueueKey, type QueueFacts, type WorkerFacts } from "../core/queue-key.ts";
import type { Quota } from "../core/quota.ts";

export type Queue = {
  readonly id: number;
  readonly key: string;
  readonly facts: QueueFacts;
  readonly tenant: Tenant;
  pending: number;
  active: number;
  jobs: number;
  gone: boolean;
};

export type Tenant = {
  readonly id: string;
  readonly queues: Set<Queue>;
  turn: number;
  pending: number;
  active: number;
};

type QueueCounts = Pick<Queue, "jobs" | "pending" | "active">;
export type QueueRow = Pick<Queue, "id" | "key" | "pending" | "active" | "jobs">;
type Matches = { seen: number; queues: Queue[] };

/** What a database stores of this. */
type BookRows = {
  queues: QueueRow[];
  turns: { tenantId: string; turn: number }[];
  pausedTypes: string[];
  quotas: { tenantId: string; quota: Quota }[];
};

/** Enough for every different kind of worker that one hub serves; beyond it, the oldest are matched again. */
const matchesMax = 1_000;
/** Removed queues are skipped cheaply; from time to time the list is rewritten without them. */
const goneMax = 1_000;

/**
 * The queues and tenants with their counters, kept in memory: claims match workers against this book and never against
 * rows. It does not access a database: a driver fills it, writes what `takeChanges` returns before each commit, and
 * undoes a failed act step by step.
 */
export class QueueBook {
  readonly #byKey = new Map<string, Queue>();
  readonly #byId = new Map<number, Queue>();
  readonly #tenants = new Map<string, Tenant>();
  /** Only ever grows, so that a list of matches can be updated with what was added since. */
  #all: Queue[] = [];
  #gone = 0;
  readonly #matches = new Map<string, Matches>();
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
      tenant = { id, queues: new Set(), turn: 0, pending: 0, active: 0 };
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

  /** The queues that this worker may claim from, whether or not they contain jobs. */
  matching(worker: WorkerFacts): Queue[] {
    const name = JSON.stringify(worker);
    let matches = this.#matches.get(name);
    if (matches === undefined) {
      matches = { seen: 0, queues: [] };
      if (this.#matches.size >= matchesMax) this.#matches.delete(this.#matches.keys().next().value!);
      this.#matches.set(name, matches);
    }
    for (; matches.seen < this.#all.length; matches.seen++) {
      const queue = this.#all[matches.seen]!;
      if (!queue.gone && fits(queue.facts, worker)) matches.queues.push(queue);
    }
    return matches.queues;
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
    const isKnown = ({ id, queues }: Tenant): boolean => queues.size > 0 || this.#quotas.has(id);
    const ids = new Set([
      ...this.#quotas.keys(),
      ...[...this.#tenants.values()].filter(isKnown).map(({ id }) => id),
    ]);
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
    if (this.#gone > goneMax) this.#compact();
    return changes;
  }

  #compact(): void {
    this.#all = this.#all.filter((queue) => !queue.gone);
    this.#matches.clear();
    this.#gone = 0;
  }

  #enter(row: QueueRow): Queue {
    const facts = parseQueueKey(row.key);
    const tenant = this.tenant(facts.tenant_id);
    const queue: Queue = { ...row, facts, tenant, gone: false };
    this.#byKey.set(row.key, queue);
    this.#byId.set(row.id, queue);
    this.#all.push(queue);
    tenant.queues.add(queue);
    tenant.pending += queue.pending;
    tenant.active += queue.active;
    return queue;
  }

  #leave(queue: Queue): void {
    queue.gone = true;
    this.#gone++;
    this.#byKey.delete(queue.key);
    if (this.#byId.get(queue.id) === queue) this.#byId.delete(queue.id);
    queue.tenant.queues.delete(queue);
    this.#changedQueues.delete(queue);
  }

  #count(queue: Queue, { jobs, pending, active }: QueueCounts): void {
    queue.jobs += jobs;
    queue.pending += pending;
    queue.active += active;
    queue.tenant.pending += pending;
    queue.tenant.active += active;
  }
}
