import type { Origin } from "../../../core/events.ts";
import { lockdownLifted, lockedDown, tenantLocked } from "../../log/act-events.ts";
import {
  type Lockdown,
  lockdownError,
  type TenantLockdown,
  tenantLockdownError,
} from "../../response-store.ts";
import type { Context } from "../context.ts";
import { appendEvent } from "../log/event-log.ts";

type LockInput = { reason: string; userId: string | null; nowMs: number; origin: Origin | null };

/** Locks the hub and takes every worker offline. False if it was already locked: the first reason stays. */
export function lockDown(context: Context, input: LockInput): boolean {
  const { reason, userId, nowMs } = input;
  if (getLockdown(context) !== null) return false;
  context.sql.run(
    "INSERT INTO lockdown (one, reason, user_id, since) VALUES (1, ?, ?, ?)",
    reason,
    userId,
    nowMs,
  );
  const workers = context.sql.run("UPDATE workers SET status = 'inactive' WHERE status = 'active'");
  appendEvent(context, lockedDown(reason, workers, input));
  return true;
}

export function getLockdown(context: Context): Lockdown | null {
  return context.sql.first<Lockdown>("SELECT reason, user_id AS userId, since FROM lockdown");
}

/** False if there was none. Workers that wait for jobs are told that there may be some. */
export function liftLockdown(context: Context, input: { nowMs: number; origin: Origin | null }): boolean {
  const lockdown = getLockdown(context);
  if (lockdown === null) return false;
  context.sql.run("DELETE FROM lockdown");
  appendEvent(context, lockdownLifted(lockdown, input));
  context.notice.released(context.book.all());
  return true;
}

/** Locks one tenant. Its workers stay as they are: they may finish what they run. */
export function lockTenant(context: Context, input: LockInput & { tenantId: string }): boolean {
  const { tenantId, reason, userId, nowMs } = input;
  const added = context.sql.run(
    "INSERT INTO tenant_lockdowns (tenant_id, reason, user_id, since) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    tenantId,
    reason,
    userId,
    nowMs,
  );
  if (added === 0) return false;
  appendEvent(context, tenantLocked(tenantId, reason, input));
  return true;
}

export function listLockedTenants(context: Context): TenantLockdown[] {
  return context.sql.all<TenantLockdown>(
    "SELECT tenant_id AS tenantId, reason, user_id AS userId, since FROM tenant_lockdowns ORDER BY tenant_id",
  );
}

export function liftTenant(
  context: Context,
  input: { tenantId: string; nowMs: number; origin: Origin | null },
): boolean {
  const { tenantId } = input;
  const lockdown = listLockedTenants(context).find((one) => one.tenantId === tenantId);
  if (lockdown === undefined) return false;
  context.sql.run("DELETE FROM tenant_lockdowns WHERE tenant_id = ?", tenantId);
  appendEvent(context, lockdownLifted(lockdown, input));
  context.notice.released(context.book.tenant(tenantId).queues);
  return true;
}

/**
 * Checked inside the act that leases, so that no job can slip out between the check and the claim. Returns the tenants
 * whose jobs must not be leased.
 */
export function refuseInLockdown(context: Context, tenantId: string | null): Set<string> {
  const lockdown = getLockdown(context);
  if (lockdown !== null) throw lockdownError(lockdown);
  const tenants = listLockedTenants(context);
  const own = tenants.find((one) => one.tenantId === tenantId);
  if (own !== undefined) throw tenantLockdownError(own);
  return new Set(tenants.map((one) => one.tenantId));
}
