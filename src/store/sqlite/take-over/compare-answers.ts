import { isDeepStrictEqual } from "node:util";
import { type JobState, jobStates } from "../../../core/jobs/job.ts";
import { idOfHex } from "../../frames/job-line.ts";
import type { ForgottenJob, StoredJob } from "../../store.ts";
import { listQueues } from "../acts/queue-acts.ts";
import { knownId } from "../copy/copied-jobs.ts";
import { withSoundNumbers } from "../copy/copied-log.ts";
import { Connection } from "../database/connection.ts";
import { JobMemory } from "../jobs/job-memory.ts";
import { getForgottenJob } from "../log/kept-receipts.ts";
import { getJob } from "../reads/get-job.ts";
import { countJobs, listJobs } from "../reads/list-jobs.ts";
import { ReadContext } from "../reads/read-context.ts";
import { readEvents } from "../reads/read-events.ts";
import { newestIn, type Rows, readHistory, readJob, readReceipt, readRows } from "../rows/read-rows.ts";

const busyTimeoutMs = 5_000;
/** More than any job has. */
const eventsMax = 1_000_000;

type Files = { rows: string; frames: string; macKey: Buffer };

/** What a caller is told differently by the two; nothing if the copy is complete. */
type Difference = { what: string; id: string };

type Pair = { old: Rows; now: ReadContext; memory: JobMemory };

/**
 * Asks both files about every job, as a caller would: the job, its history, its receipt when it is gone; and what is listed and
 * counted. After each job there is a chance to do something else. Why: ADR 0121, ADR 0122.
 */
export function* compareAnswers({ rows, frames, macKey }: Files): Generator<Difference | null> {
  const oldSql = new Connection(rows, busyTimeoutMs, { isReader: true });
  try {
    const sql = new Connection(frames, busyTimeoutMs, { isReader: true });
    try {
      const pair = {
        old: readRows(oldSql, macKey),
        now: new ReadContext(sql, macKey),
        memory: new JobMemory(),
      };
      yield* compareJobs(pair);
      yield* compareReceipts(pair);
      yield* compareLists(pair);
    } finally {
      sql.close();
    }
  } finally {
    oldSql.close();
  }
}

function* compareJobs({ old, now, memory }: Pair): Generator<Difference | null> {
  const ids = old.sql.statement("SELECT id FROM jobs ORDER BY seq").iterate() as Iterable<{ id: string }>;
  for (const { id } of ids) {
    const before = readJob(old, id);
    const after = getJob({ ...contextOf(now), jobs: memory }, { jobId: knownId(id) });
    if (before === null || after === null || !isSameJob(before, after)) yield { what: "job", id };
    const about = { jobId: id, afterSeq: 0, limit: eventsMax };
    const history = readHistory(old, id).map(withSoundNumbers);
    const isSame = isDeepStrictEqual(history, readEvents(now, about));
    yield isSame ? null : { what: "history of job", id };
  }
}

function contextOf({ sql, frames, names, tallies, macKey }: ReadContext) {
  return { sql, frames, names, tallies, macKey };
}

/** Of a job that does not match its seal, what its columns say is not known; that it is damaged must be. */
function isSameJob(before: StoredJob, after: StoredJob): boolean {
  if (!before.damaged.includes("document")) return isDeepStrictEqual(before, after);
  const shown = ({ job, document, output }: StoredJob) => {
    const { status, attempt, attempts, result, resultHash, receipt, createdAt, completedAt } = job;
    return {
      status,
      attempt,
      attempts,
      result,
      resultHash,
      receipt,
      createdAt,
      completedAt,
      document,
      output,
    };
  };
  const isNamed = before.damaged.every((part) => after.damaged.includes(part) || part === "row");
  return isNamed && after.damaged.length > 0 && isDeepStrictEqual(shown(before), shown(after));
}

function* compareReceipts({ old, now }: Pair): Generator<Difference | null> {
  const ids = now.sql.statement("SELECT DISTINCT lower(hex(id)) AS hex FROM kept_receipts").iterate();
  for (const { hex } of ids as unknown as Iterable<{ hex: string }>) {
    const jobId = idOfHex(hex);
    const before = readReceipt(old, jobId);
    const after = getForgottenJob(now, { jobId });
    yield isSameReceipt(before, after) ? null : { what: "receipt of job", id: jobId };
  }
}

function isSameReceipt(before: ForgottenJob | null, after: ForgottenJob | null): boolean {
  if (before === null || after === null || before.isSealed) return isDeepStrictEqual(before, after);
  return !after.isSealed && before.receipt === after.receipt && before.document === after.document;
}

const pageMax = 100;

function* compareLists({ old, now }: Pair): Generator<Difference | null> {
  const same = (before: unknown, after: unknown, what: string): Difference | null =>
    isDeepStrictEqual(before, after) ? null : { what, id: "" };
  yield same(listQueues(old), listQueues(now), "list of queues");
  for (const state of jobStates) {
    const counted = { count: old.tallies.get(`jobs.${state}`), isMore: false };
    const filter = { statuses: [state] };
    yield same(counted, countJobs(now, filter), `number of jobs that are ${state}`);
    const ids = newestIn(old, state, pageMax).map(knownId);
    yield same(ids, newestIds(now, state), `list of jobs that are ${state}`);
  }
}

/** A list may end before it is full, at a bound of bytes or of jobs that it has looked at, and is then continued. */
function newestIds(now: ReadContext, state: JobState): string[] {
  const ids: string[] = [];
  let before: number | null | undefined;
  do {
    const filter = { statuses: [state], limit: pageMax - ids.length, ...(before && { before }) };
    const { jobs, nextBefore } = listJobs(now, filter);
    ids.push(...jobs.map(({ job }) => knownId(job.id)));
    before = nextBefore;
  } while (before !== null && ids.length < pageMax);
  return ids;
}
