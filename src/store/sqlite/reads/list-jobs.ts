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
import { isDamage } from "../database/sqlite-error.ts";
import { jobColumnsWith, jobWidth, type QueueContext, type Row } from "../jobs/job-row.ts";
import { readSizes, readSound, readUnreadable } from "../jobs/stored-row.ts";
import { findJobs } from "./find-jobs.ts";
import { knownCount } from "./owner-totals.ts";
import type { ReadContext } from "./read-context.ts";

/**
 * Newest first. First the numbers of the jobs are found, then each is read, until the page is full.
 * Why: ADR 0031, ADR 0070.
 */
export function listJobs(context: ReadContext, filter: JobFilter): JobPage {
  const { seqs, nextBefore } = findJobs(context, filter);
  const lastEventSeq = context.tallies.get("event_seq");
  const jobs: ListedJob[] = [];
  let bytes = 0;
  for (const seq of seqs) {
    const found = readOne(context, seq);
    if (found === null) continue;
    jobs.push(found.listed);
    bytes += found.bytes;
    if (bytes > pageBytesMax && jobs.length < seqs.length) return { jobs, nextBefore: seq, lastEventSeq };
  }
  return { jobs, nextBefore, lastEventSeq };
}

type Found = { listed: ListedJob; bytes: number };

/** A job that SQLite cannot read is listed with what is left of it, and the others all the same. */
function readOne(context: ReadContext, seq: number): Found | null {
  try {
    const row = context.sql.rowStatement(listedText).get(seq) as Row | undefined;
    return row === undefined ? null : { listed: readListed(context, row), bytes: bytesOf(row) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    const stored = readUnreadable(named(context), seq);
    if (stored === null) return null;
    const { job, damaged } = stored;
    const nothing = { cut: [], summary: null, document: null, output: { throughAttempt: 0, sizes: {} } };
    return { listed: { job, damaged, ...nothing }, bytes: 0 };
  }
}

/** The same jobs, by their ids alone. */
export function listJobIds(context: ReadContext, filter: JobFilter): JobIdPage {
  const { seqs, nextBefore } = findJobs(context, filter);
  const rows = context.sql.all<{ id: string }>(
    "SELECT jobs.id FROM json_each(?) AS found CROSS JOIN jobs ON jobs.seq = found.value",
    JSON.stringify(seqs),
  );
  return { ids: rows.map(({ id }) => id), nextBefore };
}

export function countJobs(
  context: ReadContext,
  filter: Omit<JobFilter, "limit">,
): { count: number; isMore: boolean } {
  const count = knownCount(context, filter);
  if (count !== null) return { count, isMore: false };
  const { seqs, nextBefore } = findJobs(context, { ...filter, limit: countedJobsMax });
  return { count: seqs.length, isMore: nextBefore !== null };
}

const isLarge = (field: CutField): string =>
  `coalesce(octet_length(jobs.${columnOf[field]}) > ${listedBytesMax[field]}, FALSE)`;

/** Asking for its size does not read a column, so what is large costs nothing. */
const unlessLarge = (field: CutField): string => `iif(${isLarge(field)}, NULL, jobs.${columnOf[field]})`;

/** The last failure tells why a job waits for its next attempt, or why it has ended. */
const shortHistory = `iif(${isLarge("failHistory")},
  iif(json_valid(jobs.fail_history), json_array(jobs.fail_history -> '$[#-1]'), '[]'), jobs.fail_history)`;

const listedColumns = jobColumnsWith({
  result: unlessLarge("result"),
  partialResult: unlessLarge("partialResult"),
  failHistory: shortHistory,
  outputFiles: unlessLarge("outputFiles"),
  isolation: unlessLarge("isolation"),
  // Lists show neither, and both can be behind a large column.
  receipt: "NULL",
  leaseKeyId: "NULL",
});

const listedText = `SELECT ${listedColumns}, ${cutFields.map(isLarge).join(", ")}, summary,
    iif(summary IS NULL, document, NULL), output_dropped_through, output_sizes
  FROM jobs LEFT JOIN documents ON documents.job_seq = jobs.seq
    LEFT JOIN document_summaries ON document_summaries.job_seq = jobs.seq
  WHERE jobs.seq = ?`;

function readListed(context: ReadContext, row: Row): ListedJob {
  const flags = row.slice(jobWidth, jobWidth + cutFields.length);
  const [summary, document, throughAttempt, sizes] = row.slice(jobWidth + cutFields.length) as [
    string | null,
    string | null,
    number,
    string | null,
  ];
  return {
    ...readSound(named(context), row),
    cut: cutFields.filter((_, index) => flags[index] === 1),
    summary,
    document,
    output: { throughAttempt, sizes: readSizes(sizes) },
  };
}

/** Lists need the names of a few queues, and not the book of all of them. */
function named({ sql, queueKeys }: ReadContext): QueueContext {
  return { sql, book: queueKeys };
}

function bytesOf(row: Row): number {
  return row.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 8), 0);
}
