import type { JobRecord } from "../../core/jobs/job.ts";
import { KnownTexts } from "../jobs/known-texts.ts";

/**
 * What decides who runs a job, how often and for how long: everything that a row could be edited in to change that.
 * Why: ADR 0105.
 */
export const lineColumns = [
  "id",
  "tenantId",
  "userId",
  "type",
  "priority",
  "queueKey",
  "documentTimeoutSec",
  "timeoutSec",
  "maxAttempts",
  "attemptsChosen",
  "limitsDefaulted",
  "documentSha256",
  "idempotencyKey",
  "requestHash",
] as const satisfies (keyof JobRecord)[];

export type LinedJob = Pick<JobRecord, (typeof lineColumns)[number]>;

/** The line of a job: its columns as a JSON list, in the order above. Texts that jobs share are quoted once. */
export function writeJobLine(job: LinedJob): string {
  return (
    `["${job.id}",${quoted.of(job.tenantId)},${quoted.of(job.userId)},${quoted.of(job.type)},${job.priority}` +
    `,${quoted.of(job.queueKey)},${job.documentTimeoutSec},${job.timeoutSec},${job.maxAttempts}` +
    `,${job.attemptsChosen},${job.limitsDefaulted === null ? "null" : quoted.of(job.limitsDefaulted)}` +
    `,"${job.documentSha256}",${JSON.stringify(job.idempotencyKey)},${job.requestHash === null ? "null" : JSON.stringify(job.requestHash)}]`
  );
}

/** The columns in which a row differs from the line that was written for it; none if it is as it was accepted. */
export function differingColumns(job: LinedJob, line: string): (keyof LinedJob)[] {
  if (line === writeJobLine(job)) return [];
  const values = parseList(line);
  return lineColumns.filter((column, index) => values[index] !== job[column]);
}

function parseList(line: string): unknown[] {
  try {
    const list: unknown = JSON.parse(line);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

const quoted = new KnownTexts((text) => JSON.stringify(text));
