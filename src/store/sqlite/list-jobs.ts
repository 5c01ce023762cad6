import {
  type CutField,
  type JobFilter,
  type JobPage,
  type ListedJob,
  listedBytesMax,
  mergeWalks,
  pageBytesMax,
} from "../job-list.ts";
import type { Context } from "./context.ts";
import { jobColumnsWith, jobWidth, type Row, readJob } from "./job-row.ts";
import { walksOf } from "./walk-jobs.ts";

/** Newest first. First the numbers of the jobs are found, then each is read, until the page is full. */
export function listJobs(context: Context, filter: JobFilter): JobPage {
  const { limit, offset = 0 } = filter;
  const { seqs, nextBefore } = mergeWalks(walksOf(context, filter), { offset, limit });
  const jobs: ListedJob[] = [];
  let bytes = 0;
  for (const seq of seqs) {
    const row = context.sql.rowStatement(listedText).get(seq) as Row | undefined;
    if (row === undefined) continue;
    jobs.push(readListed(context, row));
    bytes += bytesOf(row);
    if (bytes > pageBytesMax && jobs.length < seqs.length) return { jobs, nextBefore: seq };
  }
  return { jobs, nextBefore };
}

const cutFields = Object.keys(listedBytesMax) as CutField[];

const columnOfCut = {
  result: "jobs.result",
  partialResult: "jobs.partial_result",
  failHistory: "jobs.fail_history",
  outputFiles: "jobs.output_files",
  isolation: "jobs.isolation",
} as const satisfies Record<CutField, string>;

const isLarge = (field: CutField): string =>
  `coalesce(octet_length(${columnOfCut[field]}) > ${listedBytesMax[field]}, FALSE)`;

/** Asking for its size does not read a column, so what is large costs nothing. */
const unlessLarge = (field: CutField): string => `iif(${isLarge(field)}, NULL, ${columnOfCut[field]})`;

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

function readListed(context: Context, row: Row): ListedJob {
  const flags = row.slice(jobWidth, jobWidth + cutFields.length);
  const [summary, document, throughAttempt, sizes] = row.slice(jobWidth + cutFields.length) as [
    string | null,
    string | null,
    number,
    string | null,
  ];
  return {
    job: readJob(context, row),
    cut: cutFields.filter((_, index) => flags[index] === 1),
    summary,
    document,
    output: { throughAttempt, sizes: JSON.parse(sizes ?? "{}") },
  };
}

function bytesOf(row: Row): number {
  return row.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 8), 0);
}
