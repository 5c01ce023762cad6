import { type BulkFilter, bulkJobsMax } from "../../../contract/list-query.ts";
import { codeOf, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { type JobState, stateBehind } from "../../../core/jobs/job.ts";
import type { HubDeps } from "../../deps.ts";
import { recordDenial } from "../access/record-denial.ts";
import { recordEvent } from "../audit/record-event.ts";
import { cancelJob, retryJob } from "./end-jobs.ts";
import { findJob } from "./find-job.ts";
import { findJobIds } from "./list-jobs.ts";

type BulkAct = "cancel" | "retry";

type BulkCall = {
  identity: Identity;
  origin: Origin;
  act: BulkAct;
  /** Exactly one of `ids` and `filter` chooses the jobs. */
  ids?: readonly string[] | undefined;
  filter?: BulkFilter | undefined;
  isDryRun: boolean;
};

type BulkOutcome = {
  /** How many jobs were chosen. */
  matched: number;
  done: number;
  /** The jobs that were left unchanged, and why. */
  left: { id: string; why: string }[];
  /** Whether there are more jobs than one call changes. */
  more: boolean;
};

/**
 * How many changes run at once: enough to fill a commit of the store, and few enough that other calls do not wait long.
 */
const atOnceMax = 16;

/** The states that each act applies to. A filter finds only jobs in these. */
const statesOf = {
  cancel: ["pending", "assigned", "running"],
  retry: ["failed", "quarantined"],
} as const satisfies Record<BulkAct, readonly JobState[]>;

/** Cancels or retries many jobs. Each is changed by itself, so a refused job does not stop the others. */
export async function bulkChange(deps: HubDeps, call: BulkCall): Promise<BulkOutcome> {
  const { ids, more } = await choose(deps, call);
  const outcome: BulkOutcome = { matched: ids.length, done: 0, left: [], more };
  if (call.isDryRun) return call.ids === undefined ? outcome : judgeAll(deps, call, outcome, ids);
  const afterSeq = deps.feed.lastSeq;
  const rest = ids.values();
  const lanes = Array.from({ length: atOnceMax }, async () => {
    for (const id of rest) await changeOne(deps, call, { id, outcome });
  });
  try {
    await Promise.all(lanes);
  } finally {
    if (ids.length > 0) await recordBulk(deps, call, { outcome, afterSeq });
  }
  return outcome;
}

/** The result of a dry run: of the named ids, those that exist, that the caller may change, and that can be changed. */
async function judgeAll(
  deps: HubDeps,
  { identity, origin, act }: BulkCall,
  outcome: BulkOutcome,
  ids: readonly string[],
): Promise<BulkOutcome> {
  const states: readonly JobState[] = statesOf[act];
  for (const id of ids) {
    const why = await refusalOf(deps, { identity, origin }, async () => {
      const { job } = await findJob(deps, { identity, origin, jobId: id, to: "change" });
      if (!states.includes(job.status)) throw new WritError("STATE_CONFLICT", `the job is ${job.status}`);
    });
    if (why !== null) outcome.left.push({ id, why });
  }
  return { ...outcome, matched: ids.length - outcome.left.length };
}

/** Writes one record for the whole act after those of its jobs, which lie between `after_seq` and it. */
async function recordBulk(
  deps: HubDeps,
  { identity, origin, act, filter }: BulkCall,
  { outcome: { matched, done, left }, afterSeq }: { outcome: BulkOutcome; afterSeq: number },
): Promise<void> {
  // The trail has no values from request bodies, so it gets the names of the filter's fields.
  const filterFields = filter === undefined ? {} : { filter_fields: Object.keys(filter) };
  const details = { act, matched, done, left: left.length, after_seq: afterSeq, ...filterFields };
  await recordEvent(deps, { event: "JOBS_CHANGED", origin, tenantId: identity.tenantId, details });
}

async function choose(deps: HubDeps, call: BulkCall): Promise<{ ids: string[]; more: boolean }> {
  const { identity, act, ids, filter = {} } = call;
  if (ids !== undefined) return { ids: [...new Set(ids)], more: false };
  const states: readonly JobState[] = statesOf[act];
  const status = filter.status?.filter((state) => states.includes(stateBehind(state))) ?? [...states];
  // A retry by filter means failed jobs, not those that were cancelled on purpose.
  const fail_code = filter.fail_code ?? (act === "retry" ? "!CANCELLED" : undefined);
  return findJobIds(deps, { identity, filter: { ...filter, status, fail_code }, limit: bulkJobsMax });
}

async function changeOne(
  deps: HubDeps,
  { identity, origin, act }: BulkCall,
  { id, outcome }: { id: string; outcome: BulkOutcome },
): Promise<void> {
  const change = act === "cancel" ? cancelJob : retryJob;
  const why = await refusalOf(deps, { identity, origin }, () =>
    change(deps, { identity, origin, jobId: id }),
  );
  if (why === null) outcome.done++;
  else outcome.left.push({ id, why });
}

/** Null if the job was changed. */
async function refusalOf(
  deps: HubDeps,
  caller: Pick<BulkCall, "identity" | "origin">,
  act: () => Promise<unknown>,
): Promise<string | null> {
  try {
    await act();
    return null;
  } catch (thrown) {
    // The refusal passes no transport, and must be recorded as if each job had been tried by itself.
    const error = await recordDenial(deps, caller, thrown);
    if (!(error instanceof WritError)) throw error;
    return `${codeOf(error)}: ${error.message}`;
  }
}
