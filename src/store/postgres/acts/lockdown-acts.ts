import type { Origin } from "../../../core/events.ts";
import { lockdownLifted, lockedDown, tenantLocked } from "../../log/act-events.ts";
import type { Lockdown, TenantLockdown } from "../../response-store.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { lockAllWorkers } from "./worker-row.ts";

type LockInput = { reason: string; userId: string | null; nowMs: number; origin: Origin | null };

/** Locks the hub and takes every worker offline. False if it was already locked: the first reason stays. */
export async function lockDown(tx: Transaction, input: LockInput): Promise<boolean> {
  const { reason, userId, nowMs } = input;
  await lockAllWorkers(tx.sql);
  // Whoever is just leasing jobs holds this table, and is waited for: who takes leases back next must find them all.
  await tx.sql.run("LOCK TABLE ready IN EXCLUSIVE MODE");
  const added = await tx.sql.run(
    "INSERT INTO lockdown (one, reason, user_id, since) VALUES (1, $1, $2, $3) ON CONFLICT DO NOTHING",
    reason,
    userId,
    nowMs,
  );
  if (added === 0) return false;
  tx.work.isSettings = true;
  const workers = await tx.sql.run("UPDATE workers SET status = 'inactive' WHERE status = 'active'");
  tx.log(lockedDown(reason, workers, input));
  return true;
}

const columns = `reason, user_id AS "userId", since`;

export function getLockdown(sql: Connection): Promise<Lockdown | null> {
  return sql.first<Lockdown>(`SELECT ${columns} FROM lockdown`);
}

/** False if there was none. Workers that wait for jobs are told that there may be some. */
export async function liftLockdown(
  tx: Transaction,
  input: { nowMs: number; origin: Origin | null },
): Promise<boolean> {
  const lockdown = await tx.sql.first<Lockdown>(`DELETE FROM lockdown RETURNING ${columns}`);
  if (lockdown === null) return false;
  tx.work.isSettings = true;
  tx.log(lockdownLifted(lockdown, input));
  tx.work.notice.released(tx.shared.book.all());
  return true;
}

/** Locks one tenant. Its workers stay as they are: they may finish what they run. */
export async function lockTenant(tx: Transaction, input: LockInput & { tenantId: string }): Promise<boolean> {
  const { tenantId, reason, userId, nowMs } = input;
  const added = await tx.sql.run(
    `INSERT INTO tenant_lockdowns (tenant_id, reason, user_id, since) VALUES ($1, $2, $3, $4)
      ON CONFLICT DO NOTHING`,
    tenantId,
    reason,
    userId,
    nowMs,
  );
  if (added === 0) return false;
  tx.work.isSettings = true;
  tx.log(tenantLocked(tenantId, reason, input));
  return true;
}

export function listLockedTenants(sql: Connection): Promise<TenantLockdown[]> {
  return sql.all<TenantLockdown>(
    `SELECT tenant_id AS "tenantId", ${columns} FROM tenant_lockdowns ORDER BY tenant_id`,
  );
}

export async function liftTenant(
  tx: Transaction,
  input: { tenantId: string; nowMs: number; origin: Origin | null },
): Promise<boolean> {
  const lockdown = await tx.sql.first<TenantLockdown>(
    `DELETE FROM tenant_lockdowns WHERE tenant_id = $1 RETURNING tenant_id AS "tenantId", ${columns}`,
    input.tenantId,
  );
  if (lockdown === null) return false;
  tx.work.isSettings = true;
  tx.log(lockdownLifted(lockdown, input));
  tx.work.notice.released(tx.shared.book.tenant(input.tenantId).queues);
  return true;
}
