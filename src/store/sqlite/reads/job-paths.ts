import { type JobState, jobStates } from "../../../core/jobs/job.ts";
import { idEndCharsMin, idStartCharsMin, type JobFilter, lookedJobsMax } from "../../jobs/job-list.ts";
import type { SqlValue } from "../database/connection.ts";
import { idText } from "../jobs/job-entry.ts";
import { ownersOf } from "./owner-totals.ts";
import type { ReadContext } from "./read-context.ts";

/** An index, and the part of it in which jobs are. Their values begin with ?18. */
type Path = { from: string; fixed: string };
type PathContext = Pick<ReadContext, "sql" | "tallies">;
type Paths = { paths: Path[]; values: SqlValue[] };

/**
 * The indexes in which all jobs that fit are found; together they may contain many more. Nearly all of them have the jobs
 * in the order of seq. Those that have not are of jobs that are still live, and used only if these are few.
 * Why: ADR 0059.
 */
export function pathsOf(context: PathContext, filter: JobFilter): Paths {
  const { ids, idPart } = filter;
  if (ids !== undefined) return { paths: [known.byIds], values: [JSON.stringify(ids)] };
  if (idPart !== undefined) return idPaths(idPart);
  if (filter.schedule !== undefined) return { paths: [known.bySchedule], values: [filter.tenantId ?? null] };
  if (filter.label !== undefined && filter.tenantId !== undefined)
    return { paths: [known.byLabel], values: [filter.tenantId] };
  return statePaths(context, filter) ?? ownerPaths(context, filter) ?? everything;
}

const everything: Paths = { paths: [{ from: "jobs NOT INDEXED", fixed: "TRUE" }], values: [] };

/** The parts of the index `jobs_by_id_end`, from the first job to the last. */
const idParts = `(WITH RECURSIVE parts (part) AS (
    SELECT min(seq) >> 7 FROM jobs
    UNION ALL
    SELECT part + 1 FROM parts WHERE part < (SELECT max(seq) >> 7 FROM jobs)
  ) SELECT part FROM parts)`;

function idPaths(idPart: string): Paths {
  // A whole id is its own beginning and end.
  const isWhole = idPart.length >= idCharsMax;
  const paths = [
    ...(idPart.length >= idStartCharsMin ? [known.byStart] : []),
    ...(idPart.length >= idEndCharsMin && !isWhole ? [known.byEnd] : []),
  ];
  return { paths, values: [idPart] };
}

const idCharsMax = 36;

/** Null if most of the jobs have these states, or if those that are live are many. */
function statePaths(context: PathContext, filter: JobFilter): Paths | null {
  const { statuses, failCode } = filter;
  const isScheduled = filter.pendingPart === "scheduled";
  const hasFailed = failCode !== undefined && !failCode.startsWith("!");
  const states = new Set((statuses ?? jobStates).filter((state) => !hasFailed || isUnsuccessful(state)));
  if (states.has("completed")) return null;
  const paths = [...states].flatMap((state) => {
    if (isUnsuccessful(state)) return [known.unsuccessful(state)];
    if (state !== "pending") return [known.held];
    return isScheduled ? [known.delayed] : [known.claimable, known.delayed, known.onHold, known.inLine];
  });
  const isLong = [...states].some((state) => !isUnsuccessful(state) && !areFew(context, state, isScheduled));
  return isLong ? null : { paths: [...new Set(paths)], values: [] };
}

function isUnsuccessful(state: JobState): state is "failed" | "quarantined" {
  return state === "failed" || state === "quarantined";
}

/** Whether the index of a live state has no more entries than a call looks at. It takes as long to sort as many. */
function areFew({ sql, tallies }: PathContext, state: JobState, isScheduled: boolean): boolean {
  if (state === "pending" && !isScheduled) return tallies.get("jobs.pending") <= lookedJobsMax;
  const { fixed } = state === "pending" ? known.delayed : known.held;
  const { count } = sql.first<{ count: number }>(
    `SELECT count(*) AS count FROM (SELECT 1 FROM jobs WHERE ${fixed} LIMIT ?)`,
    lookedJobsMax + 1,
  )!;
  return count <= lookedJobsMax;
}

/** Beyond this many users, merging them takes longer than to read the jobs of everybody. */
const ownersMax = 30;

/** Jobs of one user, or of the users of one tenant. Null if there are too many of them. */
function ownerPaths(context: PathContext, filter: JobFilter): Paths | null {
  if (filter.tenantId === undefined && filter.userId === undefined) return null;
  const owners = ownersOf(context.sql, filter, ownersMax + 1);
  if (owners.length > ownersMax) return null;
  const paths = owners.map((_, index) => known.ofOwner(18 + 2 * index, 19 + 2 * index));
  return { paths, values: owners.flatMap(({ tenantId, userId }) => [tenantId, userId]) };
}

const bytesOf = (id: string): string => `unhex(replace(${id}, '-', ''))`;
/** The beginning of an id, filled up to a whole one. */
const filled = (digit: "0" | "f"): string =>
  `unhex(substr(replace(?18, '-', '') || '${digit.repeat(32)}', 1, 32))`;

const known = {
  /** With a JSON list of ids. */
  byIds: {
    from: "jobs INDEXED BY jobs_by_id",
    fixed: `id IN (SELECT ${bytesOf("value")} FROM json_each(?18))`,
  },
  /** With the beginning or the end of an id. */
  byStart: {
    from: "jobs INDEXED BY jobs_by_id",
    fixed: `id >= ${filled("0")} AND id <= ${filled("f")} AND substr(${idText}, 1, length(?18)) = ?18`,
  },
  byEnd: {
    from: `${idParts} CROSS JOIN jobs INDEXED BY jobs_by_id_end`,
    fixed: `seq >> 7 = part AND substr(id, -3) = unhex(substr(replace(?18, '-', ''), -6))
      AND substr(${idText}, -length(?18)) = ?18`,
  },
  /** With a tenant, or null; the name of the schedule is bound already. */
  bySchedule: {
    from: "jobs INDEXED BY jobs_by_id",
    fixed: `id IN (SELECT ${bytesOf("job_id")} FROM standing_orders CROSS JOIN order_occurrences ON order_id = standing_orders.id
      WHERE kind = 'schedule' AND name = ?13 AND (?18 IS NULL OR tenant_id = ?18) AND job_id IS NOT NULL)`,
  },
  /** With the tenant; the label is bound already. */
  byLabel: { from: "job_labels", fixed: "tenant_id = ?18 AND label = ?12" },
  unsuccessful: (state: JobState): Path => ({
    from: "jobs INDEXED BY jobs_unsuccessful",
    fixed: `status = ${jobStates.indexOf(state)} AND status >= 4`,
  }),
  /** Those that claims, the scheduler and the reaper use. */
  claimable: { from: "jobs INDEXED BY jobs_claimable", fixed: "ready = 1" },
  delayed: { from: "jobs INDEXED BY jobs_delayed", fixed: "ready = 0" },
  inLine: { from: "jobs INDEXED BY jobs_in_line", fixed: "ready = 3" },
  onHold: { from: "jobs INDEXED BY jobs_on_hold", fixed: "ready = 2" },
  held: { from: "jobs INDEXED BY jobs_due", fixed: "due_at IS NOT NULL" },
  /** With the values of these numbers: a tenant and a user. */
  ofOwner: (tenant: number, user: number): Path => ({
    from: "jobs INDEXED BY jobs_by_owner",
    fixed: `owner = (SELECT number FROM owners WHERE tenant_id = ?${tenant} AND user_id = ?${user})`,
  }),
};
