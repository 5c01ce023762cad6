import type { z } from "zod";
import type { auditQuery } from "../../contract/shapes/audit-shapes.ts";
import { momentOf } from "../parts/time-range.ts";

/** The parameters of the address. `record` begins the list at one record, so that a link can show it. */
const names = [
  "view",
  "severity",
  "event",
  "user",
  "tenant",
  "job",
  "since",
  "until",
  "after",
  "record",
] as const;
export type AuditFilterName = (typeof names)[number];
export type AuditFilter = Partial<Record<AuditFilterName, string>>;
type AuditSearch = z.output<typeof auditQuery>;

export const auditLabels: Record<AuditFilterName, string> = {
  view: "view is",
  severity: "severity is",
  event: "event is",
  user: "done by",
  tenant: "tenant is",
  job: "about job",
  since: "in the last",
  until: "before",
  after: "after record",
  record: "from record",
};

export function readAuditFilter(query: URLSearchParams): AuditFilter {
  const filter: AuditFilter = {};
  for (const name of names) {
    const value = query.get(name);
    if (value !== null && value !== "") filter[name] = value;
  }
  return filter;
}

/** The same filter as the hub reads it. The hub refuses unknown values with a message. */
export function auditSearch(filter: AuditFilter, nowMs: number): AuditSearch {
  const since = momentOf(filter.since, nowMs);
  const until = momentOf(filter.until, nowMs);
  const record = Number(filter.record);
  const after = Number(filter.after);
  const search: Record<string, string | number | undefined> = {
    view: filter.view,
    event: filter.event,
    severity: filter.severity,
    user_id: filter.user,
    tenant_id: filter.tenant,
    job_id: filter.job,
    since,
    until,
    cursor: Number.isSafeInteger(record) ? record + 1 : undefined,
    after: Number.isSafeInteger(after) ? after : undefined,
  };
  return search as AuditSearch;
}

/** Reads what a person typed: `user:ops`, `event:LOGIN_FAILED`, `tenant:media`, the id or the number of something. */
export function readAuditWords(words: string): { filter: AuditFilter; unknown: string[] } {
  const filter: AuditFilter = {};
  const unknown: string[] = [];
  for (const word of words.split(/\s+/).filter((part) => part !== "")) {
    const [, name, value] = /^(\w+):(.+)$/.exec(word) ?? [];
    const known = names.find((one) => one === (name === "actor" ? "user" : name));
    const isConstant = known === "event" || known === "severity";
    if (known !== undefined && value !== undefined) filter[known] = isConstant ? value.toUpperCase() : value;
    else if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(word)) filter.job = word;
    else if (/^[A-Z]+_[A-Z_]+$/.test(word)) filter.event = word;
    else if (/^[\d,]{1,19}$/.test(word)) filter.record = word.replaceAll(",", "");
    else unknown.push(word);
  }
  return { filter, unknown };
}
