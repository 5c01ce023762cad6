import { isEnded, type JobRecord } from "../../core/jobs/job.ts";
import type { StoredJob } from "../store.ts";
import type { DamagedPart } from "./find-damage.ts";

/** What the newest events of a job tell about it. */
export type TimelineEnd = {
  /** The details of the last event that shows a state; null if retention has taken it. */
  shown: ShownState | null;
  /** The hub refused the receipt of the attempt after that, so a receipt that contradicts the job is no damage. */
  isReceiptRefused: boolean;
};

type ShownState = {
  status?: unknown;
  attempt?: unknown;
  exit_code?: unknown;
  fail_code?: unknown;
  held_at?: unknown;
};
type Details = ShownState & { violation_type?: unknown };

/** Reads details of events, newest first, up to the first that shows a state. */
export function endOfTimeline(newestFirst: Iterable<string>): TimelineEnd {
  let isReceiptRefused = false;
  for (const text of newestFirst) {
    const details = JSON.parse(text) as Details;
    if (details.status !== undefined) return { shown: details, isReceiptRefused };
    if (details.violation_type === "RECEIPT") isReceiptRefused = true;
  }
  return { shown: null, isReceiptRefused };
}

type Compared = Pick<JobRecord, "status" | "attempt" | "exitCode" | "failCode" | "result" | "heldAt">;

/** The parts of a job that contradict the last event that shows its state. Why: ADR 0134. */
export function compareTimeline(job: Compared, { shown }: TimelineEnd): DamagedPart[] {
  if (shown === null || !contradicts(job, shown)) return [];
  // Only a completed job has a result.
  return job.result !== null && shown.status !== "completed" ? ["state", "result"] : ["state"];
}

function contradicts(job: Compared, { status, attempt, exit_code, fail_code, held_at }: ShownState): boolean {
  // Each event of a held job says since when it is held.
  if (status !== job.status || (held_at ?? null) !== job.heldAt) return true;
  // The fence of pending jobs is raised without an event of each, after a restore.
  const isRaised = job.status === "pending" && typeof attempt === "number" && job.attempt > attempt;
  if (attempt !== undefined && attempt !== job.attempt && !isRaised) return true;
  if (exit_code !== undefined && exit_code !== job.exitCode) return true;
  return fail_code !== undefined && isEnded(job.status) && fail_code !== job.failCode;
}

/** How many of the newest events of a job are read where each is a row: of its states, and about its receipt. */
export const comparedEvents = 8;

/** A job as it was read, compared with the details of its newest events. */
export function compareStored(stored: StoredJob, newestFirst: Iterable<string>): StoredJob {
  const end = endOfTimeline(newestFirst);
  const damaged = [...new Set([...stored.damaged, ...compareTimeline(stored.job, end)])];
  return { ...stored, damaged, isReceiptRefused: end.isReceiptRefused };
}
