import { columnOf } from "../../jobs/job-columns.ts";
import {
  type CutField,
  countedJobsMax,
  cutFields,
  type JobFilter,
  type JobIdPage,
  type JobPage,
  type ListedJob,
  listedBytesMax,
  pageBytesMax,
} from "../../jobs/job-list.ts";
import type { Connection } from "../connection/connection.ts";
import { readableJson } from "../connection/readable-json.ts";
import { recordColumnsWith, recordFrom } from "../jobs/job-row.ts";
import { findJobs } from "./find-jobs.ts";
import { knownCount } from "./owner-totals.ts";
import { type OutputColumns, readOutput, readSound } from "./read-jobs.ts";

/**
 * Newest first, as they were at one moment. First the numbers of the jobs are found, then they are read. Why: ADR 0031.
 */
export async function listJobs(sql: Connection, filter: JobFilter): Promise<JobPage> {
  const { seqs, nextBefore } = await findJobs(sql, filter);
  const { last } = (await sql.first<{ last: number }>("SELECT last FROM log_state"))!;
  const rows = await sql.all<ListedRow>(listedText, seqs);
  const jobs: ListedJob[] = [];
  let bytes = 0;
  for (const row of rows) {
    jobs.push(readListed(row));
    bytes += bytesOf(row);
    if (bytes > pageBytesMax && jobs.length < rows.length)
      return { jobs, nextBefore: row["seq"] as number, lastEventSeq: last };
  }
  return { jobs, nextBefore, lastEventSeq: last };
}

/** The same jobs, by their ids alone. */
export async function listJobIds(sql: Connection, filter: JobFilter): Promise<JobIdPage> {
  const { seqs, nextBefore } = await findJobs(sql, filter);
  const rows = await sql.all<{ id: string }>(
    "SELECT id FROM jobs WHERE seq = ANY ($1) ORDER BY seq DESC",
    seqs,
  );
  return { ids: rows.map(({ id }) => id), nextBefore };
}

export async function countJobs(
  sql: Connection,
  filter: Omit<JobFilter, "limit">,
): Promise<{ count: number; isMore: boolean }> {
  const count = await knownCount(sql, filter);
  if (count !== null) return { count, isMore: false };
  const { seqs, nextBefore } = await findJobs(sql, { ...filter, limit: countedJobsMax });
  return { count: seqs.length, isMore: nextBefore !== null };
}

const isLarge = (field: CutField): string =>
  `coalesce(octet_length(s.${columnOf[field]}) > ${listedBytesMax[field]}, FALSE)`;

/** Asking for its size does not read a column, so what is large costs nothing. */
const unlessLarge = (field: CutField): string =>
  `CASE WHEN ${isLarge(field)} THEN NULL ELSE s.${columnOf[field]} END`;

const listedText = `SELECT ${recordColumnsWith({
  result: unlessLarge("result"),
  partialResult: unlessLarge("partialResult"),
  // The last failure tells why a job waits for its next attempt, or why it has ended.
  failHistory: `CASE WHEN ${isLarge("failHistory")} THEN last_failure(${readableJson("s.fail_history")}) ELSE s.fail_history END`,
  outputFiles: unlessLarge("outputFiles"),
  isolation: unlessLarge("isolation"),
  // Lists show neither.
  receipt: "NULL",
  leaseKeyId: "NULL",
})}, ${cutFields.map((field) => `${isLarge(field)} AS cut_${columnOf[field]}`).join(", ")}, j.summary,
    CASE WHEN j.summary IS NULL THEN j.document END AS document, o.dropped_through, o.sizes
  FROM ${recordFrom("job_states")} LEFT JOIN job_outputs o ON o.seq = j.seq
  WHERE j.seq = ANY ($1) ORDER BY j.seq DESC`;

type ListedRow = Record<string, unknown> &
  OutputColumns & { summary: string | null; document: string | null };

function readListed(row: ListedRow): ListedJob {
  return {
    ...readSound(row),
    cut: cutFields.filter((field) => row[`cut_${columnOf[field]}`] === true),
    summary: row.summary,
    document: row.document,
    output: readOutput(row),
  };
}

function bytesOf(row: ListedRow): number {
  return Object.values(row).reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? value.length : 8),
    0,
  );
}
