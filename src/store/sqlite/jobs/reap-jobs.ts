import { dueAt, graced } from "../../../core/jobs/due.ts";
import type { ChangeRules } from "../../../core/jobs/outcome.ts";
import { shiftLanes } from "../../acts/lane-rows.ts";
import type { RecallInput } from "../../store.ts";
import { render } from "../acts/drive-act.ts";
import type { Context } from "../context.ts";
import { writeRowsNow } from "./flush-rows.ts";
import type { JobEntry } from "./job-entry.ts";
import { findEntry, selectEntries } from "./load-entry.ts";
import { writeJob } from "./write-job.ts";

/** Ends what is due: jobs that are expired, timed out, lost or abandoned. Why: ADR 0007. */
export function reapJobs(
  context: Context,
  { rules, limit }: { rules: ChangeRules; limit: number },
): { reaped: number; more: boolean } {
  writeRowsNow(context);
  const due = selectEntries(context, "WHERE due_at <= ? ORDER BY due_at LIMIT ?", rules.nowMs, limit);
  let reaped = 0;
  for (const entry of due) {
    const answer = writeJob(context, entry, { act: "due" }, { rules, origin: null });
    if (answer.kind === "moved") reaped++;
    // The due time was computed with another lease time; unless it is updated, it would block the jobs behind it.
    else noteDue(context, entry, rules.leaseMs);
  }
  return { reaped, more: due.length === limit };
}

/** The end of another job may have let it into a lane since it was selected. */
function noteDue(context: Context, selected: JobEntry, leaseMs: number): void {
  const entry = findEntry(context, selected.record.seq) ?? selected;
  context.jobs.put({ ...entry, dueAt: dueAt(entry.record, leaseMs) });
}

/** Takes leases back without charging attempts. A lease without a recorded key may have been made with any key. */
export function recallJobs(
  context: Context,
  { leaseKeyId, reason, rules, limit, origin }: RecallInput,
): { recalled: number; ended: number; more: boolean } {
  writeRowsNow(context);
  const held = selectEntries(
    context,
    `WHERE due_at IS NOT NULL AND status IN (1, 2)
      AND (?1 IS NULL OR lease_key IS NULL OR lease_key = ?2) ORDER BY seq LIMIT ?3`,
    leaseKeyId,
    leaseKeyId === null ? null : context.names.numberOf(leaseKeyId),
    limit,
  );
  let ended = 0;
  for (const entry of held) {
    const answer = writeJob(context, entry, { act: "recall", reason }, { rules, origin });
    if (answer.kind === "moved" && answer.job.status !== "pending") ended++;
  }
  return { recalled: held.length, ended, more: held.length === limit };
}

/** Raises the fence of jobs that no worker holds, so that no future attempt has the number of an earlier one. */
export function raiseAttempts(context: Context, { by }: { by: number }): { raised: number } {
  changeRows(context);
  return { raised: context.sql.run("UPDATE jobs SET attempt = attempt + ? WHERE status = 0", by) };
}

/** The rows are changed directly, with the rest of them. */
export function graceLeases(
  context: Context,
  input: { nowMs: number; leaseMs: number },
): { extended: string[] } {
  changeRows(context);
  const held = selectEntries(context, "WHERE due_at IS NOT NULL AND status IN (1, 2)");
  for (const entry of held) {
    const { dueAt: due, ...times } = graced(entry.record, input);
    context.jobs.put({ ...entry, record: { ...entry.record, ...times }, dueAt: due });
  }
  writeRowsNow(context);
  context.sql.run(
    `UPDATE jobs SET created_at = ?1, due_at = due_at - (created_at - ?1),
        run_at = CASE WHEN run_at = created_at THEN ?1 ELSE run_at END
      WHERE due_at IS NOT NULL AND status = 0 AND created_at > ?1`,
    input.nowMs,
  );
  context.sql.run("UPDATE workers SET last_heartbeat = ?1 WHERE last_heartbeat > ?1", input.nowMs);
  changeRows(context);
  return { extended: held.map(({ record }) => record.id) };
}

/** Moves what measures how long something lasts; a `run_at` that a producer chose is a time of day and stays. Why: ADR 0028. */
export function shiftTimes(context: Context, { byMs }: { byMs: number }): { shifted: number } {
  changeRows(context);
  const shifted = context.sql.run(
    `UPDATE jobs SET created_at = created_at + ?1, claimed_at = claimed_at + ?1, started_at = started_at + ?1,
        heartbeat_at = heartbeat_at + ?1, cancel_requested_at = cancel_requested_at + ?1,
        lease_expires_at = lease_expires_at + ?1, deadline_at = deadline_at + ?1, due_at = due_at + ?1,
        run_at = CASE WHEN attempt = 0 AND run_at = created_at THEN run_at + ?1 ELSE run_at END
      WHERE due_at IS NOT NULL`,
    byMs,
  );
  // After an attempt, run_at is the end of the delay before the next one.
  context.sql.run("UPDATE jobs SET run_at = run_at + ? WHERE ready IN (0, 2, 3) AND attempt > 0", byMs);
  for (const text of shiftLanes) context.sql.run(render(text), byMs);
  context.sql.run(
    "UPDATE workers SET last_heartbeat = last_heartbeat + ?1, paused_until = paused_until + ?1",
    byMs,
  );
  context.nextRunAt = undefined;
  return { shifted };
}

/** Before a statement changes rows: everything is in the table, and nothing of it in memory. */
function changeRows(context: Context): void {
  writeRowsNow(context);
  context.mustFlush = true;
  context.jobs.clear();
}
