import { canonicalize } from "../../../signing/canonical.ts";
import { clockSlackMs, type JobFilter, lookedJobsMax, searchedBytesMax } from "../../jobs/job-list.ts";
import type { Connection } from "../connection/connection.ts";
import { readableJson } from "../connection/readable-json.ts";
import { Conditions } from "./conditions.ts";
import { type Path, pathsOf } from "./job-paths.ts";
import { knownCount } from "./owner-totals.ts";

type Found = { seqs: number[]; nextBefore: number | null };

/**
 * Finds the jobs that a filter fits, newest first. `nextBefore` is the job at which it stopped; null after the last.
 * Why: ADR 0031, ADR 0087.
 */
export async function findJobs(sql: Connection, filter: JobFilter): Promise<Found> {
  const { offset = 0, limit } = filter;
  const { limit: _, offset: __, ...wish } = filter;
  const known = await knownCount(sql, wish);
  const conditions = new Conditions();
  const paths = pathsOf(filter, conditions);
  if (paths.length === 0 || known === 0) return { seqs: [], nextBefore: null };
  const looked = await lookedText(sql, filter, paths, conditions);
  const lookedValues = [...conditions.values];
  addWanted(conditions, filter);
  // When all that there are have been found, nothing is gained by looking at older jobs.
  const most = Math.min(offset + limit, known ?? Number.MAX_SAFE_INTEGER);
  const mostName = conditions.bind(most);
  const found = await sql.all<{ seq: number }>(
    `SELECT looked.seq FROM (${looked}) AS looked ${lookedUp("jobs", "j")} ${lookedUp("job_states", "s")}
      WHERE ${conditions.text} ORDER BY looked.seq DESC LIMIT ${mostName}`,
    ...conditions.values,
  );
  const seqs = found.slice(offset).map(({ seq }) => seq);
  if (found.length === known) return { seqs, nextBefore: null };
  if (seqs.length === limit) return { seqs, nextBefore: seqs.at(-1)! };
  const last = await sql.first<{ seq: number }>(
    `SELECT seq FROM (${looked}) AS looked ORDER BY seq DESC LIMIT 1 OFFSET ${lookedJobsMax - 1}`,
    ...lookedValues,
  );
  return { seqs, nextBefore: last?.seq ?? null };
}

/**
 * One lookup for each of them, in their order. As a plain join, it was once planned by statistics from when the table was
 * empty, and took minutes: for each job, all 20,000 were looked through.
 */
function lookedUp(table: string, name: string): string {
  return `CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE ${table}.seq = looked.seq OFFSET 0) AS ${name}`;
}

/** The numbers of the newest jobs on all paths; a call looks at no more than these. */
async function lookedText(
  sql: Connection,
  filter: JobFilter,
  paths: Path[],
  conditions: Conditions,
): Promise<string> {
  const { first, before } = await boundsOf(sql, filter);
  const bounds = `seq < ${conditions.bind(before)} AND seq >= ${conditions.bind(first)}`;
  const newest = `ORDER BY seq DESC LIMIT ${lookedJobsMax}`;
  const texts = paths.map(
    ({ from, fixed }) => `(SELECT seq FROM ${from} WHERE ${fixed} AND ${bounds} ${newest})`,
  );
  return texts.length === 1 ? texts[0]! : `${texts.join(" UNION ")} ${newest}`;
}

/** Jobs are numbered in the order of their creation, so times can be looked up like numbers. */
async function boundsOf(
  sql: Connection,
  { since, until, before }: JobFilter,
): Promise<{ first: number; before: number }> {
  const last = before ?? Number.MAX_SAFE_INTEGER;
  return {
    first: since === undefined ? 0 : await firstSince(sql, since - clockSlackMs),
    before: until === undefined ? last : Math.min(last, await firstSince(sql, until + clockSlackMs)),
  };
}

async function firstSince(sql: Connection, timeMs: number): Promise<number> {
  const { last } = (await sql.first<{ last: number }>("SELECT coalesce(max(seq), 0) AS last FROM jobs"))!;
  let low = 0;
  let high = last + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const next = await sql.first<{ seq: number; createdAt: number }>(
      `SELECT seq, created_at AS "createdAt" FROM job_states
        WHERE seq = (SELECT seq FROM jobs WHERE seq >= $1 ORDER BY seq LIMIT 1)`,
      middle,
    );
    if (next === null || next.createdAt >= timeMs) high = middle;
    else low = next.seq + 1;
  }
  return low;
}

const searchedText = `coalesce(j.summary, CASE WHEN octet_length(j.document) <= ${searchedBytesMax} THEN j.document END)`;

function addWanted(conditions: Conditions, filter: JobFilter): void {
  const { failCode, search } = filter;
  conditions.add("j.tenant_id = ?", filter.tenantId).add("j.user_id = ?", filter.userId);
  conditions.add("j.type = ?", filter.type).add("starts_with(j.type, ?)", filter.typePrefix);
  conditions.add("s.worker_id = ?", filter.workerId).add("s.status = ANY (?)", filter.statuses);
  conditions.add("s.created_at >= ?", filter.since).add("s.created_at < ?", filter.until);
  conditions.add(
    "EXISTS (SELECT 1 FROM job_labels l WHERE l.tenant_id = j.tenant_id AND l.label = ? AND l.seq = j.seq)",
    filter.label,
  );
  conditions.add(
    `EXISTS (SELECT 1 FROM order_occurrences o JOIN standing_orders w ON w.id = o.order_id
      WHERE o.job_id = j.id AND w.kind = 'schedule' AND w.tenant_id = j.tenant_id AND w.name = ?)`,
    filter.schedule,
  );
  if (failCode?.startsWith("!")) conditions.add("s.fail_code IS DISTINCT FROM ?", failCode.slice(1));
  else conditions.add("? IN (s.fail_code, s.fail_detail)", failCode);
  if (filter.pendingPart !== undefined) {
    const not = filter.pendingPart === "scheduled" ? "" : "NOT ";
    const isScheduled = "(s.attempt = 0 AND EXISTS (SELECT 1 FROM delayed WHERE delayed.seq = s.seq))";
    conditions.addText(`(s.status <> 'pending' OR ${not}${isScheduled})`);
  }
  if (search === undefined) return;
  const words = conditions.bind(containing(search));
  // Documents are stored in the canonical form, which escapes some characters. First the whole text, which takes little
  // time; its commands are looked at only if it contains the words.
  const escaped = conditions.bind(containing(canonicalize(search).slice(1, -1)));
  conditions.addText(
    `(j.id ILIKE ${words} ESCAPE '!' OR j.type ILIKE ${words} ESCAPE '!' OR (${searchedText} ILIKE ${escaped} ESCAPE '!'
      AND EXISTS (SELECT 1 FROM command_words(${readableJson(searchedText)}) AS word WHERE word ILIKE ${words} ESCAPE '!')))`,
  );
}

function containing(words: string): string {
  return `%${words.replaceAll(/[!%_]/g, "!$&")}%`;
}
