import type { Origin } from "../../core/events.ts";
import { lockdownLifted, lockedDown } from "../act-events.ts";
import { type Lockdown, lockdownError } from "../response-store.ts";
import type { Context } from "./context.ts";
import { appendEvent } from "./event-log.ts";

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

/** Checked inside the act that leases, so that no job can slip out between the check and the claim. */
export function refuseInLockdown(context: Context): void {
  const lockdown = getLockdown(context);
  if (lockdown !== null) throw lockdownError(lockdown);
}
