import type { LoggedEvent } from "../../core/events.ts";
import type { WorkerOwner } from "../../store/workers/worker-owner.ts";
import { workerOf } from "./response-rules.ts";

/**
 * A failed signature or seal. `by` is the worker that reported it, null if the hub found it itself; `tenantId` is the
 * owner of that worker, null for a shared worker and for the hub.
 */
export type Failure = { ts: number; by: string | null; tenantId: string | null; jobId: string | null };

/** What must be locked, and why: one tenant, or the hub if `tenantId` is null. */
type Alarm = { tenantId: string | null; reason: string };

const windowMs = 60_000;
const failuresMax = 10;
/** Fewer workers could be lying or misconfigured. */
const reportersMin = 3;
/** The newest failures of a source are enough to decide. */
const rememberedMax = 200;

/**
 * Adds a failure to those remembered and returns what must be locked, or null. Documents that the hub found damaged
 * count by themselves. Reports count only if several workers of one owner make them: those of shared workers against
 * the hub, those of a tenant's workers against that tenant alone, which could have invented them. `owner` is the owner
 * of the reporting worker, null if the worker is no longer known. Why: ADR 0026, ADR 0099.
 */
export function addFailure(
  failures: readonly Failure[],
  event: LoggedEvent,
  owner: WorkerOwner | null,
): { failures: Failure[]; alarm: Alarm | null } {
  const recent = failures.filter(({ ts }) => ts > event.ts - windowMs);
  const failure = failureOf(event, owner);
  if (failure === null) return { failures: recent, alarm: null };
  // Each source counts alone: reports of one tenant neither add to nor displace those of others.
  const others = recent.filter((one) => !isSameSource(one, failure));
  const same = [...recent.filter((one) => isSameSource(one, failure)), failure].slice(-rememberedMax);
  const reason = failure.by === null ? damagedDocuments(same) : reportedSignatures(same);
  if (reason === null) return { failures: [...others, ...same], alarm: null };
  // After a lockdown was lifted, the count starts again.
  return { failures: others, alarm: { tenantId: failure.tenantId, reason } };
}

/**
 * Null for an event that does not count: a bad receipt is evidence against its worker alone, which is blocked for it,
 * and a count of refusals contains no new one.
 */
function failureOf(event: LoggedEvent, owner: WorkerOwner | null): Failure | null {
  const { evidence_against: against, violation_type: violation, folded } = event.details;
  if (against !== undefined || violation === "RECEIPT" || folded !== undefined) return null;
  const { ts, jobId } = event;
  const by = workerOf(event);
  if (by === null) return { ts, by, tenantId: null, jobId };
  return owner && { ts, by, tenantId: owner.tenantId, jobId };
}

function isSameSource(a: Failure, b: Failure): boolean {
  return (a.by === null) === (b.by === null) && a.tenantId === b.tenantId;
}

/** Counts documents, not reads: one damaged document that is read ten times is still one. */
function damagedDocuments(found: Failure[]): string | null {
  const documents = new Set(found.map(({ jobId }) => jobId)).size;
  if (documents < failuresMax) return null;
  return `${documents} stored documents failed in the hub within ${windowMs / 1000} s`;
}

function reportedSignatures(reported: Failure[]): string | null {
  const reporters = new Set(reported.map(({ by }) => by)).size;
  if (reported.length < failuresMax || reporters < reportersMin) return null;
  return `${reporters} workers reported ${reported.length} bad signatures within ${windowMs / 1000} s`;
}
