import { fits, parseQueueKey, type QueueFacts, type WorkerFacts } from "../../core/queue-key.ts";
import type { Quota } from "../store.ts";
import type { Connection } from "./connection.ts";

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
type QueueRow = Pick<Queue, "id" | "key" | "pending" | "active" | "jobs">;
type Matches = { seen: number; queues: Queue[] };

/** Enough for every different kind of worker that one hub serves; beyond it the oldest are matched anew. */
const matchesMax = 1_000;
/** Queues that have gone are skipped cheaply; now and then the list is written without them. */
const goneMax = 1_000;

/**
 * The queues and tenants with their counters, held in memory: claims match workers against this book and never
 * against rows. Changes are written back once for each transaction, and an act that fails is undone step by step.
 */
export class QueueBook {
  readonly #connection: Connection;
  readonly #byKey = new Map<string, Queue>();
  readonly #byId = new Map<number, Queue>();
  readonly #tenants = new Map<string, Tenant>();
  /** Only ever grows, so that a list of matches can be brought up to date by what came since. */
  #all: Queue[] = [];
  #gone = 0;
  readonly #matches = new Map<string, Matches>();
  readonly #changedQueues = new Set<Queue>();
  readonly #changedTenants = new Set<Tenant>();
  #undo: (() => void)[] = [];
  #pausedTypes: Set<string> | null = null;
  #quotas: Map<string, Quota> | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
    for (const row of connection.all<QueueRow>("SELECT id, key, pending, active, jobs FROM queues")) {
      this.#enter(row);
    }
    for (const { id, turn } of connection.all<{ id: string; turn: number }>("SELECT id, turn FROM tenants")) {
      this.tenant(id).turn = turn;
    }
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

  /** The queue of this key, made when there is none. */
  open(key: string): Queue {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const facts = parseQueueKey(key);
    const { lastInsertRowid } = this.#connection
      .statement("INSERT INTO queues (key, tenant_id, type, pending, active, jobs) VALUES (?, ?, ?, 0, 0, 0)")
      .run(key, facts.tenant_id, facts.type);
    const queue = this.#enter({ id: Number(lastInsertRowid), key, pending: 0, active: 0, jobs: 0 });
    this.#undo.push(() => this.#leave(queue));
    return queue;
  }

  /** Forgets a queue that no job refers to any more. */
  closeEmpty(queue: Queue): void {
    if (queue.gone || queue.jobs > 0) return;
    this.#connection.run("DELETE FROM queues WHERE id = ?", queue.id);
    this.#leave(queue);
    this.#undo.push(() => this.#enter(queue));
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

  /** The queues that this worker may take from, whether or not there is anything in them. */
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

  isPaused(type: string): boolean {
    this.#pausedTypes ??= new Set(
      this.#connection.all<{ type: string }>("SELECT type FROM paused_types").map((row) => row.type),
    );
    return this.#pausedTypes.has(type);
  }

  quota(tenantId: string): Quota {
    this.#quotas ??= new Map(
      this.#connection
        .all<{ tenant_id: string; quota: string }>("SELECT tenant_id, quota FROM quotas")
        .map((row) => [row.tenant_id, JSON.parse(row.quota)]),
    );
    return this.#quotas.get(tenantId) ?? {};
  }

  /** To be called by whoever writes quotas or paused types. */
  forgetSettings(): void {
    this.#pausedTypes = null;
    this.#quotas = null;
    this.#undo.push(() => {
      this.#pausedTypes = null;
      this.#quotas = null;
    });
  }

  mark(): number {
    return this.#undo.length;
  }

  backTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()!();
  }

  /** Writes what has changed; the last thing before a commit. */
  flush(): void {
    for (const queue of this.#changedQueues) {
      this.#connection.run(
        "UPDATE queues SET pending = ?, active = ?, jobs = ? WHERE id = ?",
        queue.pending,
        queue.active,
        queue.jobs,
        queue.id,
      );
    }
    for (const tenant of this.#changedTenants) {
      this.#connection.run(
        "INSERT INTO tenants (id, turn) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET turn = excluded.turn",
        tenant.id,
        tenant.turn,
      );
    }
    this.#changedQueues.clear();
    this.#changedTenants.clear();
    this.#undo = [];
    if (this.#gone > goneMax) this.#compact();
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
