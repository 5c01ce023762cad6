import { shiftLanes } from "../../acts/lane-rows.ts";
import { lockAllWorkersText } from "../acts/worker-row.ts";
import type { Transaction } from "../transaction/transaction.ts";

const moved = [
  "created_at",
  "claimed_at",
  "started_at",
  "heartbeat_at",
  "cancel_requested_at",
  "lease_expires_at",
  "deadline_at",
  "due_at",
].map((column) => `${column} = ${column} + $1::bigint`);
/** Of a job that was to run at once, it is no time that somebody chose. */
const movedRunAt =
  "run_at = CASE WHEN attempt = 0 AND run_at = created_at THEN run_at + $1::bigint ELSE run_at END";

/**
 * Moves what measures how long something lasts; a `run_at` that a producer chose is a time of day and stays.
 * Why: ADR 0028.
 */
export async function shiftTimes(tx: Transaction, { byMs }: { byMs: number }): Promise<{ shifted: number }> {
  await tx.sql.run(lockAllWorkersText);
  let shifted = 0;
  // Exactly the jobs that a worker holds and those that may not wait for ever.
  for (const place of ["active", "ready", "delayed", "held"]) {
    await tx.sql.run(`SELECT 1 FROM ${place} WHERE due_at IS NOT NULL ORDER BY seq FOR UPDATE`);
    shifted += await tx.sql.run(
      `UPDATE ${place} SET ${[...moved, movedRunAt].join(", ")} WHERE due_at IS NOT NULL`,
      byMs,
    );
  }
  // After an attempt, run_at is the end of the delay before the next one.
  for (const place of ["delayed", "held"])
    tx.send(`UPDATE ${place} SET run_at = run_at + $1::bigint WHERE attempt > 0`, byMs);
  for (const text of shiftLanes) tx.send(text.replaceAll("?1", "$1::bigint"), byMs);
  tx.send(
    "UPDATE workers SET last_heartbeat = last_heartbeat + $1::bigint, paused_until = paused_until + $1::bigint",
    byMs,
  );
  return { shifted };
}
