import type { EventKind } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { AuditTraits } from "../../../store/audit-store.ts";
import type { SealedRecord } from "../../../store/log/audit-record.ts";
import { isByPerson, kindsOfPeople } from "../../audit/acts-of-people.ts";
import { dayOf, isGone, listColdDays, readCold } from "../../audit/cold-files.ts";
import type { HubDeps } from "../../deps.ts";

type AuditSearch = AuditTraits & {
  /** Only acts of people. */
  isOfPeople?: boolean;
  /** Only records below this seq. */
  before?: number;
  /** Only records above this seq. */
  after?: number | undefined;
  limit: number;
};

/** What running jobs tell is in the same log, but is no event of the trail. */
const whileRunning: EventKind[] = ["JOB_PROGRESS", "JOB_AGENT"];

/** How many records of the table one act examines: rare records are found in many short acts. */
const window = 5_000;

/** Matching records, newest first, from the database and then from the files. `next` is the cursor to continue with. */
export async function readAudit(
  deps: HubDeps,
  call: { identity: Identity; search: AuditSearch; signal: AbortSignal },
): Promise<{ records: SealedRecord[]; next: number | null }> {
  const search = {
    ...call.search,
    tenantId: call.identity.tenantId ?? call.search.tenantId,
    ...(call.search.isOfPeople ? { kinds: kindsOfPeople } : {}),
    ...(call.search.event === undefined ? { without: whileRunning } : {}),
  };
  if (call.identity.tenantId !== null && call.search.tenantId !== undefined) {
    // Records of another tenant look as if they did not exist.
    if (call.search.tenantId !== call.identity.tenantId) return { records: [], next: null };
  }
  const records = await searchHot(deps, search, call.signal);
  if (records.length < search.limit) {
    records.push(...(await searchCold(deps, search, { found: records, signal: call.signal })));
  }
  return { records, next: records.length < search.limit ? null : records.at(-1)!.seq };
}

async function searchHot(deps: HubDeps, search: AuditSearch, signal: AbortSignal): Promise<SealedRecord[]> {
  const records: SealedRecord[] = [];
  let before: number | null = search.before ?? Number.MAX_SAFE_INTEGER;
  while (before !== null && records.length < search.limit && !signal.aborted) {
    const limit = search.limit - records.length;
    const { isOfPeople, ...traits } = search;
    const page = await deps.store.searchAudit({ ...traits, before, window, limit });
    records.push(...(isOfPeople ? page.records.filter(isByPerson) : page.records));
    before = page.next;
  }
  return records;
}

/** Each file is read from its beginning; only as many matches are kept as are still needed. */
async function searchCold(
  deps: HubDeps,
  search: AuditSearch,
  { found, signal }: { found: SealedRecord[]; signal: AbortSignal },
): Promise<SealedRecord[]> {
  const { first } = await deps.store.eventRange();
  // The files contain the records before the database's first one.
  if (search.after !== undefined && first !== 0 && search.after >= first - 1) return [];
  const before = Math.min(
    search.before ?? Number.MAX_SAFE_INTEGER,
    first === 0 ? Number.MAX_SAFE_INTEGER : first,
  );
  const days = (await listColdDays(deps.auditDir)).filter((day) => isWithin(day, search));
  const records: SealedRecord[] = [];
  for (const day of days.reverse()) {
    const wanted = search.limit - found.length - records.length;
    if (wanted === 0 || signal.aborted) break;
    const matches = await searchDay(deps, { day, before, wanted, search, signal });
    records.push(...matches.reverse());
  }
  return records;
}

type DaySearch = { day: string; before: number; wanted: number; search: AuditSearch; signal: AbortSignal };

async function searchDay(
  deps: HubDeps,
  { day, before, wanted, search, signal }: DaySearch,
): Promise<SealedRecord[]> {
  const matches: SealedRecord[] = [];
  try {
    for await (const record of readCold(deps.auditDir, day)) {
      if (signal.aborted) break;
      if (record.seq >= before || !fits(record, search)) continue;
      matches.push(record);
      if (matches.length > wanted) matches.shift();
    }
  } catch (error) {
    // The file became too old after the files were listed, so it is left out.
    if (!isGone(error)) throw error;
  }
  return matches;
}

function isWithin(day: string, { since, until }: AuditSearch): boolean {
  // If the clock was set back, a record may be in the file of a later day, so only the end is exact.
  return (
    (since === undefined || day >= dayOf(since)) && (until === undefined || day <= dayOf(until + 86_400_000))
  );
}

function fits(record: SealedRecord, search: AuditSearch): boolean {
  const ts = Date.parse(record.timestamp);
  return (
    (search.event === undefined || record.event === search.event) &&
    !(search.without as string[] | undefined)?.includes(record.event) &&
    (search.kinds === undefined || (search.kinds as string[]).includes(record.event)) &&
    (!search.isOfPeople || isByPerson(record)) &&
    (search.severity === undefined || record.severity === search.severity) &&
    (search.tenantId === undefined || record.tenant_id === search.tenantId) &&
    (search.userId === undefined || record.user_id === search.userId) &&
    (search.jobId === undefined || record.job_id === search.jobId) &&
    (search.since === undefined || ts >= search.since) &&
    (search.until === undefined || ts < search.until) &&
    (search.after === undefined || record.seq > search.after)
  );
}
