import { WritError } from "../core/errors.ts";
import type { Origin } from "../core/events.ts";

/**
 * The part of the store that remembers the response to security events: lockdown, alerts, who is watched.
 * Why: ADR 0014.
 */
export type ResponseStore = {
  /** Stops all claims and takes all workers offline. False if the hub was already locked. */
  lockDown(input: {
    reason: string;
    userId: string | null;
    nowMs: number;
    origin: Origin | null;
  }): Promise<boolean>;
  getLockdown(): Promise<Lockdown | null>;
  liftLockdown(input: { nowMs: number; origin: Origin | null }): Promise<boolean>;
  /** Stops all claims of one tenant's jobs, and of its own workers. False if the tenant was already locked. */
  lockTenant(input: {
    tenantId: string;
    reason: string;
    userId: string | null;
    nowMs: number;
    origin: Origin | null;
  }): Promise<boolean>;
  listLockedTenants(): Promise<TenantLockdown[]>;
  liftTenant(input: { tenantId: string; nowMs: number; origin: Origin | null }): Promise<boolean>;

  /** The position of a log reader that must not read anything twice. A new one begins at the end. */
  getLogReader(input: { name: string }): Promise<LogReader>;
  /** Moves it forward together with the results of what it read. `dropped` messages found their channel full. */
  advanceLogReader(input: AdvanceInput): Promise<{ dropped: number }>;
  nextMessage(input: { channel: string }): Promise<OutboxMessage | null>;
  /** Without a time to try again, the message is deleted. */
  finishMessage(input: { id: number; retryAt: number | null }): Promise<void>;
  /** Whose requests are recorded in full now. */
  listWatched(input: { nowMs: number }): Promise<{ subject: string; until: number }[]>;
};

export type Lockdown = { reason: string; userId: string | null; since: number };

export type TenantLockdown = Lockdown & { tenantId: string };

/**
 * Checked inside the act that leases, so that no job can slip out between the check and the claim: throws if a worker of this
 * tenant may claim nothing now. Returns the tenants whose jobs must not be leased.
 */
export function refuseInLockdown(
  tenantId: string | null,
  { lockdown, tenants }: { lockdown: Lockdown | null; tenants: TenantLockdown[] },
): Set<string> {
  if (lockdown !== null) throw lockdownError(lockdown);
  const own = tenants.find((one) => one.tenantId === tenantId);
  if (own !== undefined) throw tenantLockdownError(own);
  return new Set(tenants.map((one) => one.tenantId));
}

/** The refusal of every claim while the hub is locked. */
export function lockdownError({ reason, since }: Lockdown): WritError {
  return new WritError("LOCKDOWN", `the hub is locked: ${reason}`, { reason, since });
}

/** The refusal of every claim of a tenant's own workers while the tenant is locked. */
function tenantLockdownError({ tenantId, reason, since }: TenantLockdown): WritError {
  return new WritError("LOCKDOWN", `tenant ${tenantId} is locked: ${reason}`, { reason, since });
}

export type LogReader = { seq: number; memory: string };

export type NewMessage = { channel: string; subject: string; body: string; data: string };

export type OutboxMessage = NewMessage & { id: number; createdAt: number; dueAt: number; tries: number };

export type AdvanceInput = LogReader & {
  name: string;
  messages: NewMessage[];
  /** No channel ever has more messages waiting than this. */
  waitingMax: number;
  watch: { subject: string; until: number }[];
  nowMs: number;
};
