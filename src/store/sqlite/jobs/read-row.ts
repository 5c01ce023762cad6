import { type JobRecord, type JobState, jobStates } from "../../../core/jobs/job.ts";
import { differingColumns, idOfHex } from "../../frames/job-line.ts";
import type { FrameReader } from "../frames/frame-reader.ts";
import { type JobEntry, type Place, type RowValues, rowColumns, unpackHash } from "./job-entry.ts";

/** What a row names by number. Why: ADR 0116. */
export type RowNames = {
  queueKey(number: number): string;
  typeOf(number: number): string;
  owner(number: number): { tenantId: string; userId: string };
  name(number: number): string;
};

const indexOf = Object.fromEntries(rowColumns.map((column, index) => [column, index])) as Record<
  (typeof rowColumns)[number],
  number
>;

/** For SELECT: the columns in order. */
export const rowList = rowColumns.map((column) => `jobs.${column}`).join(", ");

/**
 * The same for a row of which only the beginning is read: what comes after it may be long, and then is on pages of its own. Everything
 * else is null.
 */
export const rowStart = rowColumns
  .slice(0, rowColumns.indexOf("result_hash"))
  .map((column) => `jobs.${column}`)
  .join(", ");

type Deps = { frames: FrameReader; names: RowNames };

/** The job in a row, with what its line says. `damaged` are the parts of it that cannot be read. */
export function readEntry(
  { frames, names }: Deps,
  values: RowValues,
): { entry: JobEntry; isUnlisted: boolean; isHistoryLost: boolean } {
  const row = values.length === rowColumns.length ? values : withRare(values);
  const at = { frame: row[indexOf.frame] as number, place: row[indexOf.place] as number };
  const lineAt = placeIn(row, "line_frame", "line_place");
  const receiptAt = placeIn(row, "receipt_frame", "receipt_place");
  const { frame, place } = lineAt ?? at;
  const { state, line } = frames.line(frame, place);
  const record = recordOf(row, names, { ...noLine, ...line });
  record.documentSha256 = frames.hash(frame, "documents", place);
  record.receipt = receiptAt === null ? null : frames.receipt(receiptAt.frame, receiptAt.place).text;
  const history = parsed(row[indexOf.fail_history], "[]");
  return {
    entry: {
      record,
      queueId: row[indexOf.queue_id] as number,
      owner: row[indexOf.owner] as number,
      at,
      lineAt,
      receiptAt,
      ready: row[indexOf.ready] as JobEntry["ready"],
      dueAt: row[indexOf.due_at] as number | null,
      eventFrames: row[indexOf.event_frames] as string,
      isStored: true,
      isStoredPlain: false,
      isGenuine: state === "kept" && line !== null && differingColumns(record, line).length === 0,
      document: null,
    },
    isUnlisted: state === "unlisted",
    isHistoryLost: history === null,
  };
}

function placeIn(
  row: RowValues,
  frame: "line_frame" | "receipt_frame",
  place: "line_place" | "receipt_place",
): Place | null {
  const number = row[indexOf[frame]];
  return number === null ? null : { frame: number as number, place: row[indexOf[place]] as number };
}

/** What was left out is null. */
function withRare(row: RowValues): RowValues {
  return [...row, ...Array.from({ length: rowColumns.length - row.length }, () => null)];
}

/** The id of the row, as JSON and SQLite give it. */
function rowId(row: RowValues): string {
  const id = row[indexOf.id];
  return id instanceof Uint8Array ? idOfHex(Buffer.from(id).toString("hex")) : (id as string);
}

type OnlyInLine = Pick<
  JobRecord,
  | "documentTimeoutSec"
  | "timeoutSec"
  | "maxAttempts"
  | "attemptsChosen"
  | "limitsDefaulted"
  | "idempotencyKey"
  | "requestHash"
  | "terms"
>;

/** In place of a line that cannot be read: values with which nothing runs. */
const noLine: OnlyInLine = {
  documentTimeoutSec: 0,
  timeoutSec: 0,
  maxAttempts: 1,
  attemptsChosen: false,
  limitsDefaulted: null,
  idempotencyKey: "",
  requestHash: null,
  terms: null,
};

/** Field by field: an object that is given so many fields by their names becomes a dictionary. */
function recordOf(row: RowValues, names: RowNames, line: OnlyInLine): JobRecord {
  const values = row as never[];
  const queueId = values[indexOf.queue_id]!;
  const { tenantId, userId } = names.owner(values[indexOf.owner]!);
  const named = (column: "worker" | "lease_key"): string | null =>
    row[indexOf[column]] === null ? null : names.name(values[indexOf[column]]!);
  return {
    seq: values[indexOf.seq]!,
    id: rowId(row),
    tenantId,
    userId,
    type: names.typeOf(queueId),
    priority: values[indexOf.priority]!,
    queueKey: names.queueKey(queueId),
    documentSha256: "",
    idempotencyKey: line.idempotencyKey,
    requestHash: line.requestHash,
    status: (jobStates[values[indexOf.status]!] ?? "failed") as JobState,
    attempt: values[indexOf.attempt]!,
    attempts: values[indexOf.attempts]!,
    maxAttempts: line.maxAttempts,
    attemptsChosen: line.attemptsChosen,
    limitsDefaulted: line.limitsDefaulted,
    timeoutSec: line.timeoutSec,
    documentTimeoutSec: line.documentTimeoutSec,
    releases: values[indexOf.releases]!,
    retryCounts: parsed(row[indexOf.retry_counts], "{}") ?? {},
    queueTtlSec: values[indexOf.queue_ttl_sec]!,
    createdAt: values[indexOf.created_at]!,
    runAt: values[indexOf.run_at]!,
    claimedAt: values[indexOf.claimed_at]!,
    startedAt: values[indexOf.started_at]!,
    heartbeatAt: values[indexOf.heartbeat_at]!,
    completedAt: values[indexOf.completed_at]!,
    cancelRequestedAt: values[indexOf.cancel_requested_at]!,
    workerId: named("worker"),
    leaseTokenHash: unpackHash(row[indexOf.lease_token]),
    leaseKeyId: named("lease_key"),
    leaseExpiresAt: values[indexOf.lease_expires_at]!,
    deadlineAt: values[indexOf.deadline_at]!,
    result: values[indexOf.result]!,
    resultHash: unpackHash(row[indexOf.result_hash]),
    resultKey: values[indexOf.result_key]!,
    partialResult: values[indexOf.partial_result]!,
    exitCode: values[indexOf.exit_code]!,
    progress: values[indexOf.progress]!,
    isolation: values[indexOf.isolation]!,
    usage: values[indexOf.usage]!,
    outputFiles: values[indexOf.output_files]!,
    receipt: null,
    failReason: values[indexOf.fail_reason]!,
    failCode: values[indexOf.fail_code]!,
    failDetail: values[indexOf.fail_detail]!,
    failHistory: parsed(row[indexOf.fail_history], "[]") ?? [],
    eventCount: values[indexOf.event_count]!,
    terms: line.terms,
    heldAt: values[indexOf.held_at] ?? null,
  };
}

/** Null if it is not JSON; what is not stored is empty. */
function parsed<T>(text: unknown, empty: "{}" | "[]"): T | null {
  try {
    return JSON.parse((text as string | null) ?? empty) as T;
  } catch {
    return null;
  }
}
