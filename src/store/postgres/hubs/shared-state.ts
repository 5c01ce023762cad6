import type { Quota } from "../../../core/jobs/quota.ts";
import { ParkedClaims } from "../../queues/parked-claims.ts";
import { QueueBook, type QueueRow } from "../../queues/queue-book.ts";
import { type Lockdown, refuseInLockdown, type TenantLockdown } from "../../response-store.ts";
import { ClaimFloors } from "../claims/claim-floors.ts";
import type { Connection } from "../connection/connection.ts";
import { HeldJobs } from "../transaction/held-jobs.ts";

type Settings = {
  paused: string[];
  quotas: { tenantId: string; quota: string }[];
  lockdown: Lockdown | null;
  lockedTenants: TenantLockdown[];
};

export type Changes = {
  version: number;
  last: number;
  queues: QueueRow[] | null;
  turns: { tenantId: string; turn: number }[] | null;
  settings: Settings | null;
};

/** One statement sees one moment: what has changed since a version, and which version it is now. */
const changesText = `SELECT version, last,
    (SELECT json_agg(json_build_object('id', id, 'key', key, 'pending', pending, 'active', active, 'jobs', jobs))
      FROM queues WHERE changed > $1) AS queues,
    (SELECT json_agg(json_build_object('tenantId', id, 'turn', turn)) FROM tenants WHERE changed > $1) AS turns,
    CASE WHEN settings_version > $1 THEN json_build_object(
      'paused', (SELECT coalesce(json_agg(type), '[]') FROM paused_types),
      'quotas', (SELECT coalesce(json_agg(json_build_object('tenantId', tenant_id, 'quota', quota)), '[]') FROM quotas),
      'lockdown', (SELECT json_build_object('reason', reason, 'userId', user_id, 'since', since) FROM lockdown),
      'lockedTenants', (SELECT coalesce(json_agg(json_build_object('tenantId', tenant_id, 'reason', reason,
        'userId', user_id, 'since', since)), '[]') FROM tenant_lockdowns)) END AS settings
  FROM log_state`;

/**
 * What this hub knows of what all hubs share: queues with their counts, turns, quotas, lockdowns. Every transaction begins
 * with what has changed since, so it decides by what was true a moment ago; limits are checked again at its end. Between
 * two statements, the book shows committed counts only. Why: ADR 0080, ADR 0084.
 */
export class SharedState {
  readonly book = emptyBook();
  /** What this store has leased. */
  readonly held = new HeldJobs();
  /** Where claims begin to read. */
  readonly floors = new ClaimFloors();
  /** Claims that wait for jobs. What others have made claimable wakes them, and they look again. */
  readonly parked = new ParkedClaims();
  /** Claims that transactions under way lease jobs to, with what resolves when those have ended. */
  readonly #handOvers = new Map<string, Promise<unknown>>();
  lockdown: Lockdown | null = null;
  lockedTenants: TenantLockdown[] = [];
  /** How often this store has announced claimable jobs. */
  announced = 0;
  #version = 0;
  /** Versions that this store has made and not yet read. */
  #own: number[] = [];
  #turn = 0;

  /** Asks for what has changed. The answer is for `apply`. */
  ask(sql: Connection): Promise<Changes | null> {
    return sql.first<Changes>(changesText, this.#version);
  }

  /** Answers of several connections may come in another order than they were asked for: an older one says nothing new. */
  apply({ version, queues, turns, settings }: Changes): void {
    if (version <= this.#version) return;
    const own = this.#own.filter((made) => made <= version).length;
    if (own < version - this.#version) this.floors.noteForeign();
    this.#own = this.#own.filter((made) => made > version);
    this.#version = version;
    for (const row of queues ?? []) this.#setQueue(row);
    for (const { tenantId, turn } of turns ?? []) {
      this.book.served(this.book.tenant(tenantId), turn);
      this.#turn = Math.max(this.#turn, turn);
    }
    if (settings !== null) this.#setSettings(settings);
    this.book.takeChanges();
  }

  /** This store has committed this version. */
  committed(version: number): void {
    if (version > this.#version) this.#own.push(version);
  }

  /** A transaction that has ended by then leases jobs to this claim, which is no longer parked. */
  handOver(claimId: string, ended: Promise<void>): void {
    this.parked.leave(claimId);
    const all = Promise.all([this.#handOvers.get(claimId), ended]).then(() => {
      if (this.#handOvers.get(claimId) === all) this.#handOvers.delete(claimId);
    });
    this.#handOvers.set(claimId, all);
  }

  /** Resolves when what was under way for this claim has become known, or has failed. */
  async handedOver(claimId: string | undefined): Promise<void> {
    if (claimId !== undefined) await this.#handOvers.get(claimId);
  }

  nextTurn(): number {
    return ++this.#turn;
  }

  /** Throws if a worker of this tenant may claim nothing now. Returns the tenants whose jobs must not be leased. */
  refuseInLockdown(tenantId: string | null): Set<string> {
    return refuseInLockdown(tenantId, { lockdown: this.lockdown, tenants: this.lockedTenants });
  }

  #setQueue(row: QueueRow): void {
    const known = this.book.byId(row.id);
    if (row.jobs === 0) {
      if (known !== undefined) this.book.leave(known);
    } else if (known === undefined) this.book.enter(row);
    else {
      const { jobs, pending, active } = known;
      this.book.adjust(known, {
        jobs: row.jobs - jobs,
        pending: row.pending - pending,
        active: row.active - active,
      });
    }
  }

  #setSettings({ paused, quotas, lockdown, lockedTenants }: Settings): void {
    const types = new Set(paused);
    for (const type of this.book.pausedTypes()) if (!types.has(type)) this.book.setPaused(type, false);
    for (const type of types) this.book.setPaused(type, true);
    for (const { tenantId, quota } of quotas) this.book.setQuota(tenantId, JSON.parse(quota) as Quota);
    this.lockdown = lockdown;
    this.lockedTenants = lockedTenants;
  }
}

function emptyBook(): QueueBook {
  return new QueueBook({ queues: [], turns: [], pausedTypes: [], quotas: [] });
}
