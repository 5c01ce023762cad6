import type { ListFilter } from "../../contract/list-query.ts";
import type { LiveEvent } from "../../contract/shapes/view-shapes.ts";
import { type JobState, jobStates, type ListedState } from "../../core/jobs/job.ts";
import { isScheduled } from "../parts/is-scheduled.ts";
import { momentOf } from "../parts/time-range.ts";

/**
 * The parameters of the address. Times are relative (`1h`, `today`) or milliseconds, so that a saved view stays true.
 */
export const filterNames = [
  "state",
  "type",
  "worker",
  "user",
  "tenant",
  "code",
  "since",
  "until",
  "id",
  "q",
] as const;
export type FilterName = (typeof filterNames)[number];
export type JobFilter = Partial<Record<FilterName, string>>;

export const filterLabels: Record<FilterName, string> = {
  state: "state is",
  type: "type is",
  worker: "worker is",
  user: "user is",
  tenant: "tenant is",
  code: "failed with",
  since: "created in the last",
  until: "created before",
  id: "id has",
  q: "text is",
};

export function readFilter(query: URLSearchParams): JobFilter {
  const filter: JobFilter = {};
  for (const name of filterNames) {
    const value = query.get(name);
    if (value !== null && value !== "") filter[name] = value;
  }
  return filter;
}

/**
 * The states that the list is filtered by. The hub stores a cancelled job as failed, and one that is not due as
 * pending; people have other words for both.
 */
export const foundStates = [
  "pending",
  "scheduled",
  "assigned",
  "running",
  "completed",
  "failed",
  "quarantined",
  "cancelled",
] as const satisfies readonly (JobState | "scheduled" | "cancelled")[];
export type FoundState = (typeof foundStates)[number];

type Found = { status: JobState; fail_code?: string | null; attempt: number; run_at: number };

export function foundAs(job: Found): FoundState {
  if (isScheduled(job)) return "scheduled";
  return job.status === "failed" && job.fail_code === "CANCELLED" ? "cancelled" : job.status;
}

/** The same for an event, which does not tell when a job is due: a new one may be waiting or scheduled. */
function foundIn(event: LiveEvent): FoundState[] {
  if (event.status === "pending" && event.attempt === 0) return ["pending", "scheduled"];
  return [foundAs({ ...event, run_at: 0 })];
}

/**
 * Cancelled jobs are found alone or together with failed ones: the hub filters by one code for all states. Beside other
 * states they are left out.
 */
export function statesOf({ state }: JobFilter): FoundState[] {
  const named = namesIn(state);
  const found = foundStates.filter((known) => named.includes(known));
  const isMixed = found.length > 1 && !found.includes("failed");
  return isMixed ? found.filter((known) => known !== "cancelled") : found;
}

/** Words of the filter that are not states. */
export function unknownStates({ state }: JobFilter): string[] {
  return namesIn(state).filter((name) => !(foundStates as readonly string[]).includes(name));
}

function namesIn(state = ""): string[] {
  const names = state.split(",").filter((name) => name !== "");
  return names.map((name) => (name === "dead" ? "quarantined" : name));
}

/** The states as the hub knows them, and the code that tells cancelled from failed. */
function statusFilter(states: readonly FoundState[]): Pick<ListFilter, "status" | "fail_code"> {
  if (states.length === 0) return {};
  const status: ListedState[] = jobStates.filter(
    (known) =>
      known !== "pending" && (states.includes(known) || (known === "failed" && states.includes("cancelled"))),
  );
  // People call waiting jobs pending; the hub's state includes scheduled jobs.
  if (states.includes("pending")) status.unshift("waiting");
  if (states.includes("scheduled")) status.unshift("scheduled");
  if (!states.includes("cancelled"))
    return states.includes("failed") ? { status, fail_code: "!CANCELLED" } : { status };
  return states.includes("failed") ? { status } : { status, fail_code: "CANCELLED" };
}

/** The same filter as the hub reads it. Relative times count from now. */
export function hubFilter(filter: JobFilter, nowMs: number): ListFilter {
  const query: ListFilter = statusFilter(statesOf(filter));
  if (filter.type !== undefined) query.type = filter.type;
  if (filter.worker !== undefined) query.worker_id = filter.worker;
  if (filter.user !== undefined) query.user_id = filter.user;
  if (filter.tenant !== undefined) query.tenant_id = filter.tenant;
  if (filter.code !== undefined) query.fail_code = filter.code as NonNullable<ListFilter["fail_code"]>;
  const since = momentOf(filter.since, nowMs);
  if (since !== undefined) query.since = since;
  const until = momentOf(filter.until, nowMs);
  if (until !== undefined) query.until = until;
  if (filter.id !== undefined) query.id = filter.id;
  if (filter.q !== undefined) query.q = filter.q;
  return query;
}

/**
 * Reads what a person typed: `type:video.*`, `worker:oak-01` and the like set a filter each, part of an id finds that
 * job, and everything else is text.
 */
export function readWords(words: string): JobFilter {
  const filter: JobFilter = {};
  const rest: string[] = [];
  for (const word of words.trim().split(/\s+/)) {
    const [, name, value] = /^(\w+):(.+)$/.exec(word) ?? [];
    if (name !== undefined && value !== undefined && isFilterName(name))
      filter[name] = name === "code" ? value.toUpperCase() : value;
    else if (word !== "") rest.push(word);
  }
  const text = rest.join(" ");
  if (text === "") return filter;
  if (/^[0-9a-f-]{6,36}$/.test(text) && /\d/.test(text)) filter.id = text;
  else filter.q = text;
  return filter;
}

/** The filter as a person would type it: `readWords` reads the same filter from it. */
export function writeWords(filter: JobFilter): string {
  const named = filterNames.filter((name) => name !== "q" && name !== "id" && filter[name] !== undefined);
  const words = named.map((name) => `${name}:${filter[name]}`);
  if (filter.id !== undefined)
    words.push(readWords(filter.id).id === filter.id ? filter.id : `id:${filter.id}`);
  if (filter.q !== undefined) words.push(readWords(filter.q).q === filter.q ? filter.q : `q:${filter.q}`);
  return words.join(" ");
}

/**
 * What is wrong with the filter, or null. The hub is asked without that part, so more jobs are listed than was meant.
 */
export function filterProblem(filter: JobFilter): string | null {
  const [unknown] = unknownStates(filter);
  if (unknown === undefined) return timeProblem(filter);
  return `state: "${unknown}" is not a state; use ${foundStates.join(", ")}`;
}

/**
 * Whether people may act on all jobs that the filter finds. Without a filter, or with one that is partly ignored, the
 * act would reach jobs that it was meant to leave out.
 */
export function mayActOnAll(filter: JobFilter): boolean {
  return Object.keys(filter).length > 0 && filterProblem(filter) === null;
}

/** What is wrong with a time of the filter, or null. */
function timeProblem(filter: JobFilter): string | null {
  for (const name of ["since", "until"] as const) {
    const value = filter[name];
    if (value !== undefined && momentOf(value, 0) === undefined)
      return `${name}: "${value}" is not a time; use 15m, 1h, 7d, today or milliseconds`;
  }
  return null;
}

function isFilterName(name: string): name is FilterName {
  return (filterNames as readonly string[]).includes(name);
}

/** Whether a new job could be in the list, as far as its event tells. Text can only be judged by the hub. */
export function couldShow(filter: JobFilter, event: LiveEvent): boolean {
  const states = statesOf(filter);
  if (states.length > 0 && !foundIn(event).some((state) => states.includes(state))) return false;
  if (filter.worker !== undefined && filter.worker !== event.worker_id) return false;
  if (filter.until !== undefined || filter.id !== undefined) return false;
  return filter.type === undefined || isOfType(event.type, filter.type);
}

function isOfType(type: string, pattern: string): boolean {
  return pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
