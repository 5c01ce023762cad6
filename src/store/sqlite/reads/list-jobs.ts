import type { JobRecord } from "../../../core/jobs/job.ts";
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
import { droppedSizes } from "../acts/output-acts.ts";
import { idText } from "../jobs/job-entry.ts";
import { findJobs } from "./find-jobs.ts";
import { findRow } from "./find-row.ts";
import { knownCount } from "./owner-totals.ts";
import type { ReadContext } from "./read-context.ts";

/** Newest first. First the numbers of the jobs are found, then each is read, until the page is full. Why: ADR 0116. */
export function listJobs(context: ReadContext, filter: JobFilter): JobPage {
  const { seqs, nextBefore } = findJobs(context, filter);
  const lastEventSeq = context.tallies.get("event_seq");
  const jobs: ListedJob[] = [];
  let bytes = 0;
  for (const seq of seqs) {
    const listed = readListed(context, seq);
    if (listed === null) continue;
    jobs.push(listed);
    bytes += bytesOf(listed);
    if (bytes > pageBytesMax && jobs.length < seqs.length) return { jobs, nextBefore: seq, lastEventSeq };
  }
  return { jobs, nextBefore, lastEventSeq };
}

/** The same jobs, by their ids alone. */
export function listJobIds(context: ReadContext, filter: JobFilter): JobIdPage {
  const { seqs, nextBefore } = findJobs(context, filter);
  const rows = context.sql.all<{ id: string }>(
    `SELECT ${idText} AS id FROM json_each(?) AS found CROSS JOIN jobs ON jobs.seq = found.value`,
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

function readListed(context: ReadContext, seq: number): ListedJob | null {
  const found = findRow(context, "seq", seq);
  if (found === null) return null;
  const { record, at } = found.entry;
  const cut = cutFields.filter((field) => isLarge(record, field));
  const summary = context.sql.first<{ summary: string }>(
    "SELECT summary FROM document_summaries WHERE job_seq = ?",
    seq,
  );
  const document = summary === null ? context.frames.plain(at.frame, "documents", at.place) : null;
  return {
    // Lists show neither of the last two.
    job: { ...record, ...shortened(record, cut), receipt: null, leaseKeyId: null },
    cut,
    summary: summary?.summary ?? null,
    document: document?.text ?? null,
    output: droppedSizes(context.sql, seq),
    damaged: [
      ...(found.isCut ? (["row"] as const) : []),
      ...(found.isHistoryLost ? (["fail_history"] as const) : []),
      ...(document === null || document.isReadable ? [] : (["document"] as const)),
    ],
  };
}

function isLarge(record: JobRecord, field: CutField): boolean {
  const value = record[field];
  if (value === null) return false;
  return Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value)) > listedBytesMax[field];
}

/** The last failure tells why a job waits for its next attempt, or why it has ended. */
function shortened(record: JobRecord, cut: readonly CutField[]): Partial<JobRecord> {
  return Object.fromEntries(
    cut.map((field) => [field, field === "failHistory" ? record.failHistory.slice(-1) : null]),
  );
}

function bytesOf({ job, document, summary }: ListedJob): number {
  const texts = [...Object.values(job), document, summary];
  return texts.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 8), 0);
}
