import type { Origin } from "../../core/events.ts";
import { lockdownLifted, lockedDown, tenantLocked } from "../log/act-events.ts";
import type { Lockdown, TenantLockdown } from "../response-store.ts";
import { type Act, all, first, run } from "./act.ts";
import { Columns, nullable, number, text } from "./columns.ts";
import type { WriteDriver } from "./driver.ts";

const lockdownColumns = {
  reason: text("reason"),
  userId: nullable(text("user_id")),
  since: number("since"),
};
const lockdowns = new Columns<Lockdown>(lockdownColumns);
const tenantLockdowns = new Columns<TenantLockdown>({ tenantId: text("tenant_id"), ...lockdownColumns });

type LockInput = { reason: string; userId: string | null; nowMs: number; origin: Origin | null };

/**
 * Locks the hub and takes every worker offline. False if it was already locked: the first reason stays. Why: ADR 0014.
 */
export function* lockDown(driver: WriteDriver, input: LockInput): Act<boolean> {
  const { reason, userId, nowMs } = input;
  yield* driver.stopClaims();
  const added = yield* run(
    "INSERT INTO lockdown (one, reason, user_id, since) VALUES (1, ?, ?, ?) ON CONFLICT DO NOTHING",
    reason,
    userId,
    nowMs,
  );
  if (added === 0) return false;
  driver.changeSettings();
  const workers = yield* run("UPDATE workers SET status = 'inactive' WHERE status = 'active'");
  driver.append(lockedDown(reason, workers, input));
  return true;
}

export function getLockdown(): Act<Lockdown | null> {
  return first(lockdowns, `SELECT ${lockdowns.list} FROM lockdown`);
}

/** False if there was none. Workers that wait for jobs are told that there may be some. */
export function* liftLockdown(
  driver: WriteDriver,
  input: { nowMs: number; origin: Origin | null },
): Act<boolean> {
  const lockdown = yield* first(lockdowns, `DELETE FROM lockdown RETURNING ${lockdowns.list}`);
  if (lockdown === null) return false;
  driver.changeSettings();
  driver.append(lockdownLifted(lockdown, input));
  driver.notice.released(driver.book.all());
  return true;
}

/** Locks one tenant. Its workers stay as they are: they may finish what they run. */
export function* lockTenant(driver: WriteDriver, input: LockInput & { tenantId: string }): Act<boolean> {
  const { tenantId, reason, userId, nowMs } = input;
  const added = yield* run(
    "INSERT INTO tenant_lockdowns (tenant_id, reason, user_id, since) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    tenantId,
    reason,
    userId,
    nowMs,
  );
  if (added === 0) return false;
  driver.changeSettings();
  driver.append(tenantLocked(tenantId, reason, input));
  return true;
}

export function listLockedTenants(): Act<TenantLockdown[]> {
  return all(tenantLockdowns, `SELECT ${tenantLockdowns.list} FROM tenant_lockdowns ORDER BY tenant_id`);
}

export function* liftTenant(
  driver: WriteDriver,
  input: { tenantId: string; nowMs: number; origin: Origin | null },
): Act<boolean> {
  const lockdown = yield* first(
    tenantLockdowns,
    `DELETE FROM tenant_lockdowns WHERE tenant_id = ? RETURNING ${tenantLockdowns.list}`,
    input.tenantId,
  );
  if (lockdown === null) return false;
  driver.changeSettings();
  driver.append(lockdownLifted(lockdown, input));
  driver.notice.released(driver.book.tenant(input.tenantId).queues);
  return true;
}
