import { jobStates } from "../../../core/jobs/job.ts";
import type { JobFilter } from "../../jobs/job-list.ts";
import type { Connection } from "../connection/connection.ts";
import { Conditions } from "./conditions.ts";

/**
 * How many jobs fit, if that is known without looking: for filters by state, tenant and user only. For a type it is known
 * only whether there are any. Why: ADR 0031.
 */
export async function knownCount(sql: Connection, filter: Omit<JobFilter, "limit">): Promise<number | null> {
  const { statuses, tenantId, userId, type, typePrefix, ...others } = filter;
  if (Object.values(others).some((value) => value !== undefined)) return null;
  if (type !== undefined || typePrefix !== undefined) return (await hasType(sql, filter)) ? null : 0;
  // The names of states are those of the columns.
  const states = jobStates.filter((state) => statuses?.includes(state) ?? true);
  const total = states.length === 0 ? "0" : states.join(" + ");
  const conditions = new Conditions().add("tenant_id = ?", tenantId).add("user_id = ?", userId);
  const table = conditions.values.length === 0 ? "log_state" : "owner_counts";
  const row = await sql.first<{ count: number | null }>(
    `SELECT sum(${total}) AS count FROM ${table} WHERE ${conditions.text}`,
    ...conditions.values,
  );
  return row!.count ?? 0;
}

/** A queue exists for as long as it has jobs, ended ones included. */
async function hasType(
  sql: Connection,
  { tenantId, type, typePrefix }: Omit<JobFilter, "limit">,
): Promise<boolean> {
  const conditions = new Conditions().add("tenant_id = ?", tenantId).add("type = ?", type);
  conditions.add("starts_with(type, ?)", typePrefix);
  const text = `SELECT 1 FROM queues WHERE jobs > 0 AND ${conditions.text} LIMIT 1`;
  return (await sql.first(text, ...conditions.values)) !== null;
}
