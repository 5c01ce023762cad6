import { type JobRecord, jobStates } from "../../../core/jobs/job.ts";
import type { Readiness } from "../../../core/readiness/readiness.ts";
import type { SqlValue } from "../database/connection.ts";

/** Where something of a job is: the frame, and its place among the others of the same payload. Why: ADR 0116. */
export type Place = { frame: number; place: number };

/** How a pending job waits, in its row: for its time, a worker, a person who holds it, or a place in a lane. */
export type Ready = 0 | 1 | 2 | 3;

export const readyOf = { now: 1, later: 0, held: 2, never: null } as const satisfies Record<
  Readiness,
  Ready | null
>;

/** A job as memory holds it. Entries are never changed, only replaced, so that an act can be undone. */
export type JobEntry = {
  readonly record: JobRecord;
  readonly queueId: number;
  readonly owner: number;
  /** Of its document, and of its line unless there is a newer one. */
  readonly at: Place;
  readonly lineAt: Place | null;
  readonly receiptAt: Place | null;
  readonly ready: Ready | null;
  readonly dueAt: number | null;
  /** The frames with its events, separated by commas. */
  readonly eventFrames: string;
  /** Whether the table has a row for it, and one with nothing in the last columns. */
  readonly isStored: boolean;
  readonly isStoredPlain: boolean;
  /** Whether it is as it was accepted: its line matches the list of its frame, and its row the line. */
  readonly isGenuine: boolean;
  /** As it was accepted in this process; null if it is only in its frame. */
  readonly document: string | null;
};

/** The values of a row, in the order of `rowColumns`; the last ones may be left out. Ids and hashes are texts. */
export type RowValues = SqlValue[];

/** The columns that never change come first. */
export const rowColumns = [
  "seq",
  "id",
  "queue_id",
  "owner",
  "priority",
  "frame",
  "place",
  "status",
  "ready",
  "due_at",
  "attempt",
  "attempts",
  "releases",
  "queue_ttl_sec",
  "created_at",
  "run_at",
  "event_count",
  "event_frames",
  "claimed_at",
  "started_at",
  "heartbeat_at",
  "completed_at",
  "cancel_requested_at",
  "worker",
  "lease_token",
  "lease_key",
  "lease_expires_at",
  "deadline_at",
  "receipt_frame",
  "receipt_place",
  "result_hash",
  "result",
  "usage",
  "isolation",
  "exit_code",
  "fail_code",
  "fail_detail",
  "line_frame",
  "line_place",
  "retry_counts",
  "fail_history",
  "fail_reason",
  "progress",
  "output_files",
  "result_key",
  "partial_result",
  "held_at",
] as const;

/** How many of them a row of a job has that was never claimed. */
export const newColumns = 18;
export const fixedColumns = 7;
/** And how many a row has that has nothing rare. */
export const plainColumns = 34;

const stateNumbers = new Map(jobStates.map((state, index) => [state, index]));

/** Texts that rows name by number. */
type NumberOf = (name: string) => number;

export function rowOf(entry: JobEntry, numberOf: NumberOf): RowValues {
  const { record: job, at, receiptAt } = entry;
  const row: RowValues = [
    job.seq,
    job.id,
    entry.queueId,
    entry.owner,
    job.priority,
    at.frame,
    at.place,
    stateNumbers.get(job.status)!,
    entry.ready,
    entry.dueAt,
    job.attempt,
    job.attempts,
    job.releases,
    job.queueTtlSec,
    job.createdAt,
    job.runAt,
    job.eventCount,
    entry.eventFrames,
    job.claimedAt,
    job.startedAt,
    job.heartbeatAt,
    job.completedAt,
    job.cancelRequestedAt,
    job.workerId === null ? null : numberOf(job.workerId),
    job.leaseTokenHash,
    job.leaseKeyId === null ? null : numberOf(job.leaseKeyId),
    job.leaseExpiresAt,
    job.deadlineAt,
    receiptAt?.frame ?? null,
    receiptAt?.place ?? null,
    job.resultHash,
    job.result,
    job.usage,
    job.isolation,
  ];
  if (!isPlain(entry)) addRare(row, entry);
  return row;
}

/** What few jobs have. */
function addRare(row: RowValues, { record: job, lineAt }: JobEntry): void {
  row.push(
    job.exitCode,
    job.failCode,
    job.failDetail,
    lineAt?.frame ?? null,
    lineAt?.place ?? null,
    isEmpty(job.retryCounts) ? null : JSON.stringify(job.retryCounts),
    job.failHistory.length === 0 ? null : JSON.stringify(job.failHistory),
    job.failReason,
    job.progress,
    job.outputFiles,
    job.resultKey,
    job.partialResult,
    job.heldAt,
  );
}

function isEmpty(counts: object): boolean {
  for (const _ in counts) return false;
  return true;
}

/** Whether nothing of a job is in the last columns. */
export function isPlain({ record: job, lineAt }: JobEntry): boolean {
  return (
    job.exitCode === null &&
    job.failCode === null &&
    lineAt === null &&
    job.failHistory.length === 0 &&
    job.failReason === null &&
    job.progress === null &&
    job.outputFiles === null &&
    job.resultKey === null &&
    job.partialResult === null &&
    job.heldAt === null &&
    isEmpty(job.retryCounts)
  );
}

/** Whether it has never been claimed, and so has nothing in the later columns. */
export function isNew({ attempt, status }: Pick<JobRecord, "attempt" | "status">): boolean {
  return attempt === 0 && status === "pending";
}

function hexOfId(id: string): string {
  return id.replaceAll("-", "");
}

const hex = "lower(hex(jobs.id))";

/** In SQL: the same. */
export const idText = `(substr(${hex}, 1, 8) || '-' || substr(${hex}, 9, 4) || '-' || substr(${hex}, 13, 4)
  || '-' || substr(${hex}, 17, 4) || '-' || substr(${hex}, 21))`;

const isId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The bytes under which a job is found; null if no job can have this id. */
export function idBytes(id: string): Buffer | null {
  return isId.test(id) ? Buffer.from(hexOfId(id), "hex") : null;
}

/** A SHA-256 takes half of the room as bytes. */
export function packHash(text: string | null): SqlValue {
  if (text === null || text.length !== 64) return text;
  const bytes = Buffer.from(text, "hex");
  return bytes.length === 32 ? bytes : text;
}

export function unpackHash(value: unknown): string | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : (value as string | null);
}
