import { type JobState, jobStates } from "../../../core/jobs/job.ts";
import { idEndCharsMin, idStartCharsMin, type JobFilter } from "../../jobs/job-list.ts";
import type { Place } from "../jobs/job-row.ts";
import type { Conditions } from "./conditions.ts";

/** A table, and the part of it in which jobs are. All of them have the jobs in the order of seq. */
export type Path = { from: string; fixed: string };

/** The tables in which all jobs that fit are found; together they may contain many more. Why: ADR 0031. */
export function pathsOf(filter: JobFilter, conditions: Conditions): Path[] {
  const { ids, idPart } = filter;
  if (ids !== undefined) return [{ from: "jobs", fixed: `id = ANY (${conditions.bind(ids)})` }];
  if (idPart !== undefined) return idPaths(idPart, conditions);
  if (filter.schedule !== undefined) return [schedulePath(filter.schedule, conditions)];
  if (filter.label !== undefined && filter.tenantId !== undefined)
    return [labelPath(filter.tenantId, filter.label, conditions)];
  return statePaths(filter) ?? [ownerPath(filter, conditions)];
}

/** Of all tenants; those that are wanted are chosen among them. */
function schedulePath(name: string, conditions: Conditions): Path {
  const ids = `SELECT job_id FROM standing_orders JOIN order_occurrences ON order_id = standing_orders.id
    WHERE kind = 'schedule' AND name = ${conditions.bind(name)} AND job_id IS NOT NULL`;
  return { from: "jobs", fixed: `id IN (${ids})` };
}

function labelPath(tenantId: string, label: string, conditions: Conditions): Path {
  const fixed = `tenant_id = ${conditions.bind(tenantId)} AND label = ${conditions.bind(label)}`;
  return { from: "job_labels", fixed };
}

const idCharsMax = 36;

function idPaths(idPart: string, conditions: Conditions): Path[] {
  const part = conditions.bind(idPart);
  const byStart = { from: "jobs", fixed: `id >= ${part} AND id < ${part} || 'g'` };
  const byEnd = {
    from: `generate_series((SELECT min(seq) >> 10 FROM jobs), (SELECT max(seq) >> 10 FROM jobs)) AS part
      JOIN jobs ON seq >> 10 = part`,
    fixed: `right(id, 6) = right(${part}, 6) AND right(id, length(${part})) = ${part}`,
  };
  // A whole id is its own beginning and end.
  const isWhole = idPart.length >= idCharsMax;
  return [
    ...(idPart.length >= idStartCharsMin ? [byStart] : []),
    ...(idPart.length >= idEndCharsMin && !isWhole ? [byEnd] : []),
  ];
}

const placesOf: Record<Exclude<JobState, "completed">, Place[]> = {
  pending: ["ready", "delayed", "held"],
  assigned: ["active"],
  running: ["active"],
  failed: ["ended"],
  quarantined: ["ended"],
};

/** Null if most of the jobs have these states. */
function statePaths({ statuses, failCode, pendingPart }: JobFilter): Path[] | null {
  const hasFailed = failCode !== undefined && !failCode.startsWith("!");
  const states = new Set((statuses ?? jobStates).filter((state) => !hasFailed || isUnsuccessful(state)));
  if (states.has("completed")) return null;
  const places = pendingPart === "scheduled" ? { ...placesOf, pending: ["delayed"] } : placesOf;
  return [...states].flatMap((state) =>
    places[state as keyof typeof placesOf].map((from) => ({ from, fixed: `status = '${state}'` })),
  );
}

function isUnsuccessful(state: JobState): boolean {
  return state === "failed" || state === "quarantined";
}

/** Jobs of one user, or of one tenant, or all. */
function ownerPath({ tenantId, userId }: JobFilter, conditions: Conditions): Path {
  if (tenantId === undefined) return { from: "jobs", fixed: "TRUE" };
  const ofTenant = `tenant_id = ${conditions.bind(tenantId)}`;
  const fixed = userId === undefined ? ofTenant : `${ofTenant} AND user_id = ${conditions.bind(userId)}`;
  return { from: "jobs", fixed };
}
