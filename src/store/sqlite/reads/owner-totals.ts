import { jobStates } from "../../../core/jobs/job.ts";
import type { JobFilter } from "../../jobs/job-list.ts";
import type { Connection } from "../database/connection.ts";
import type { ReadContext } from "./read-context.ts";

type Counted = Pick<JobFilter, "tenantId" | "userId" | "statuses">;

/**
 * How many jobs fit, if that is known without looking: for filters by state, tenant and user only. For a type it is known
 * only whether there are any. Why: ADR 0031.
 */
export function knownCount(
  context: Pick<ReadContext, "sql" | "tallies">,
  filter: Omit<JobFilter, "limit">,
): number | null {
  const { statuses, tenantId, userId, type, typePrefix, ...others } = filter;
  if (Object.values(others).some((value) => value !== undefined)) return null;
  if (type !== undefined || typePrefix !== undefined) return hasType(context.sql, filter) ? null : 0;
  if (tenantId !== undefined || userId !== undefined) return countOwned(context.sql, filter);
  return [...new Set(statuses ?? jobStates)].reduce(
    (sum, state) => sum + context.tallies.get(`jobs.${state}`),
    0,
  );
}

/** A queue exists for as long as it has jobs, ended ones included. */
function hasType(sql: Connection, { tenantId, type, typePrefix }: Omit<JobFilter, "limit">): boolean {
  const found = sql.first(
    `SELECT 1 FROM queues WHERE (?1 IS NULL OR tenant_id = ?1) AND (?2 IS NULL OR type = ?2)
        AND (?3 IS NULL OR instr(type, ?3) = 1) LIMIT 1`,
    tenantId ?? null,
    type ?? null,
    typePrefix ?? null,
  );
  return found !== null;
}

function countOwned(sql: Connection, { tenantId, userId, statuses }: Counted): number {
  const { count } = sql.first<{ count: number | null }>(
    `SELECT sum(${totalOf(statuses)}) AS count FROM owner_counts WHERE ${ofOwner}`,
    tenantId ?? null,
    userId ?? null,
  )!;
  return count ?? 0;
}

/** The users that have jobs in one of these states, up to a limit. */
export function ownersOf(
  sql: Connection,
  { tenantId, userId, statuses }: Counted,
  limit: number,
): { tenantId: string; userId: string }[] {
  return sql.all(
    `SELECT tenant_id AS tenantId, user_id AS userId FROM owner_counts
      WHERE ${ofOwner} AND ${totalOf(statuses)} > 0 LIMIT ?3`,
    tenantId ?? null,
    userId ?? null,
    limit,
  );
}

const ofOwner = "(?1 IS NULL OR tenant_id = ?1) AND (?2 IS NULL OR user_id = ?2)";

/** The names of states are those of the columns, and become part of the text in one order. */
function totalOf(statuses: Counted["statuses"]): string {
  const states = jobStates.filter((state) => statuses?.includes(state) ?? true);
  return states.length === 0 ? "0" : `(${states.join(" + ")})`;
}
