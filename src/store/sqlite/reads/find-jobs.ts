import { jobStates } from "../../../core/jobs/job.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { clockSlackMs, type JobFilter, listedStates, lookedJobsMax } from "../../jobs/job-list.ts";
import type { SqlValue } from "../database/connection.ts";
import { idText } from "../jobs/job-entry.ts";
import { pathsOf } from "./job-paths.ts";
import { knownCount } from "./owner-totals.ts";
import type { ReadContext } from "./read-context.ts";

type FindContext = Pick<ReadContext, "sql" | "tallies">;

/**
 * Finds the jobs that a filter fits, newest first. SQLite reads the paths side by side and merges them, so that only the
 * newest jobs of all of them are looked at. `nextBefore` is the job at which it stopped; null after the last.
 * Why: ADR 0031, ADR 0059.
 */
export function findJobs(
  context: FindContext,
  filter: JobFilter,
): { seqs: number[]; nextBefore: number | null } {
  const { offset = 0, limit } = filter;
  const { paths, values: pathValues } = pathsOf(context, filter);
  const { limit: _, offset: __, ...wish } = filter;
  const known = knownCount(context, wish);
  if (paths.length === 0 || known === 0) return { seqs: [], nextBefore: null };
  const { first, before } = boundsOf(context, filter);
  // When all that there are have been found, nothing is gained by looking at older jobs.
  const most = Math.min(offset + limit, known ?? Number.POSITIVE_INFINITY);
  const values = [...wantedValues(filter), most, before, first, lookedJobsMax, ...pathValues];
  const looked = `${paths.map(textOf).join(" UNION ")} ORDER BY seq DESC LIMIT ?17`;
  const found = context.sql.all<{ seq: number }>(
    `SELECT jobs.seq FROM (${looked}) AS looked CROSS JOIN jobs ON jobs.seq = looked.seq WHERE ${wanted} LIMIT ?14`,
    ...values,
  );
  const seqs = found.slice(offset).map(({ seq }) => seq);
  if (found.length === known) return { seqs, nextBefore: null };
  if (seqs.length === limit) return { seqs, nextBefore: seqs.at(-1)! };
  const last = context.sql.first<{ seq: number }>(
    `SELECT seq FROM (${looked}) LIMIT 1 OFFSET ?17 - 1`,
    ...values,
  );
  return { seqs, nextBefore: last?.seq ?? null };
}

function textOf({ from, fixed }: { from: string; fixed: string }): string {
  return `SELECT seq FROM ${from} WHERE ${fixed} AND seq < ?15 AND seq >= ?16`;
}

type Bounds = { first: number; before: number };

/** Jobs are numbered in the order of their creation, so times can be looked up like numbers. */
function boundsOf(context: FindContext, { since, until, before }: JobFilter): Bounds {
  const last = before ?? Number.MAX_SAFE_INTEGER;
  return {
    first: since === undefined ? 0 : firstSince(context, since - clockSlackMs),
    before: until === undefined ? last : Math.min(last, firstSince(context, until + clockSlackMs)),
  };
}

function firstSince(context: FindContext, timeMs: number): number {
  let low = 0;
  let high = context.tallies.get("job_seq") + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const next = context.sql.first<{ seq: number; createdAt: number }>(
      "SELECT seq, created_at AS createdAt FROM jobs WHERE seq >= ? ORDER BY seq LIMIT 1",
      middle,
    );
    if (next === null || next.createdAt >= timeMs) high = middle;
    else low = next.seq + 1;
  }
  return low;
}

/** How rows are asked for what a filter names; `document` is its text, or the summary of a large one. */
type WantedColumns = Record<"id" | "tenant" | "user" | "type" | "worker" | "state" | "document", string>;

/** One text for all filters, because each text is prepared once and kept. */
function wantedText({ id, tenant, user, type, worker, state, document }: WantedColumns): string {
  const hasFailCode =
    "iif(substr(?6, 1, 1) = '!', jobs.fail_code IS NOT substr(?6, 2), ?6 IN (jobs.fail_code, jobs.fail_detail))";
  const hasLabel = `EXISTS (
    SELECT 1 FROM job_labels WHERE tenant_id = ${tenant} AND label = ?12 AND job_labels.seq = jobs.seq
  )`;
  const isOfSchedule = `EXISTS (
    SELECT 1 FROM order_occurrences JOIN standing_orders ON standing_orders.id = order_id
      WHERE job_id = ${id} AND kind = 'schedule' AND tenant_id = ${tenant} AND name = ?13
  )`;
  // First the whole text, which takes little time; its commands are looked at only if it contains the words.
  const isInCommand = `EXISTS (
    SELECT 1 FROM (${document}) WHERE text LIKE ?11 ESCAPE '!' AND json_valid(text) AND EXISTS (
      SELECT 1 FROM json_each(json_array(
          text -> '$.command', text -> '$.run.argv', text -> '$.run.worker_command'
        )) AS commands, json_each(commands.value) AS words
        WHERE words.value LIKE ?10 ESCAPE '!'
    )
  )`;
  return `(?1 IS NULL OR ${tenant} = ?1) AND (?2 IS NULL OR ${user} = ?2)
    AND (?3 IS NULL OR ${type} = ?3) AND (?4 IS NULL OR instr(${type}, ?4) = 1)
    AND (?5 IS NULL OR ${worker} = ?5) AND (?6 IS NULL OR ${hasFailCode})
    AND (?7 IS NULL OR jobs.created_at >= ?7) AND (?8 IS NULL OR jobs.created_at < ?8)
    AND (?9 IS NULL OR ${state} IN (SELECT value FROM json_each(?9)))
    AND (?12 IS NULL OR ${hasLabel}) AND (?13 IS NULL OR ${isOfSchedule})
    AND (?10 IS NULL OR ${id} LIKE ?10 ESCAPE '!' OR ${type} LIKE ?10 ESCAPE '!' OR ${isInCommand})`;
}

const ofOwner = (column: string): string => `(SELECT ${column} FROM owners WHERE number = jobs.owner)`;
const states = jobStates.map((state, index) => `WHEN ${index} THEN '${state}'`).slice(1);

/** Documents are in frames, so that a function reads them. */
const wanted = wantedText({
  id: idText,
  tenant: ofOwner("tenant_id"),
  user: ofOwner("user_id"),
  type: "(SELECT type FROM queues WHERE id = jobs.queue_id)",
  worker: "(SELECT name FROM names WHERE number = jobs.worker)",
  state: `CASE jobs.status ${states.join(" ")} ELSE
      iif(jobs.ready = 0 AND jobs.attempt = 0, 'scheduled', 'waiting') END`,
  document: `SELECT coalesce((SELECT summary FROM document_summaries WHERE job_seq = jobs.seq),
      searched_document(jobs.frame, jobs.place)) AS text`,
});

function wantedValues(filter: JobFilter): SqlValue[] {
  const { search } = filter;
  const states = listedStates(filter);
  return [
    filter.tenantId ?? null,
    filter.userId ?? null,
    filter.type ?? null,
    filter.typePrefix ?? null,
    filter.workerId ?? null,
    filter.failCode ?? null,
    filter.since ?? null,
    filter.until ?? null,
    states === undefined ? null : JSON.stringify(states),
    search === undefined ? null : containing(search),
    // Documents are stored in the canonical form, which escapes some characters.
    search === undefined ? null : containing(canonicalize(search).slice(1, -1)),
    filter.label ?? null,
    filter.schedule ?? null,
  ];
}

function containing(words: string): string {
  return `%${words.replaceAll(/[!%_]/g, "!$&")}%`;
}
