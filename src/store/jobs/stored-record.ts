import type { JobRecord } from "../../core/jobs/job.ts";
import { columnOf, type StoredField } from "./job-columns.ts";

/** The values of the columns of a record, in the order of `columnOf`. What else was selected comes after them. */
export type RecordRow = readonly unknown[];

/** The fields of a record in the order of their values. */
export const recordFields = Object.keys(columnOf) as StoredField[];

/**
 * The record in a row. Written out field by field: an object that is given so many fields by their names becomes a
 * dictionary, and each copy made of it later costs ten microseconds more. Why: ADR 0091.
 */
export function readRecord(values: RecordRow, queueKey: string): JobRecord {
  const row = values as readonly never[];
  return {
    queueKey,
    seq: row[0]!,
    id: row[1]!,
    tenantId: row[2]!,
    userId: row[3]!,
    type: row[4]!,
    priority: row[5]!,
    documentSha256: row[6]!,
    idempotencyKey: row[7]!,
    requestHash: row[8]!,
    status: row[9]!,
    attempt: row[10]!,
    attempts: row[11]!,
    maxAttempts: row[12]!,
    attemptsChosen: (row[13] as unknown) === true || row[13] === 1,
    limitsDefaulted: row[14]!,
    timeoutSec: row[15]!,
    documentTimeoutSec: row[16]!,
    releases: row[17]!,
    retryCounts: parsed(row[18]) ?? {},
    queueTtlSec: row[19]!,
    createdAt: row[20]!,
    runAt: row[21]!,
    claimedAt: row[22]!,
    startedAt: row[23]!,
    heartbeatAt: row[24]!,
    completedAt: row[25]!,
    cancelRequestedAt: row[26]!,
    workerId: row[27]!,
    leaseTokenHash: row[28]!,
    leaseKeyId: row[29]!,
    leaseExpiresAt: row[30]!,
    deadlineAt: row[31]!,
    result: row[32]!,
    resultHash: row[33]!,
    resultKey: row[34]!,
    partialResult: row[35]!,
    exitCode: row[36]!,
    progress: row[37]!,
    isolation: row[38]!,
    usage: row[39]!,
    outputFiles: row[40]!,
    receipt: row[41]!,
    failReason: row[42]!,
    failCode: row[43]!,
    failDetail: row[44]!,
    failHistory: parsed(row[45]) ?? [],
    eventCount: row[46]!,
    terms: row[47]!,
    heldAt: row[48]!,
  };
}

const historyIndex = recordFields.indexOf("failHistory");

/** Whether `readRecord` gives this row an empty history because the stored one cannot be read. */
export function isHistoryLost(row: RecordRow): boolean {
  return parsed(row[historyIndex]) === null;
}

/** Null if it is not JSON: one damaged row must not stop acts that concern others, such as the reaper's. */
function parsed<T>(text: unknown): T | null {
  if (text === "{}") return {} as T;
  if (text === "[]") return [] as unknown as T;
  try {
    return JSON.parse(text as string) as T;
  } catch {
    return null;
  }
}
