import { type EventKind, eventTable, type LoggedEvent, type Severity } from "../../core/events.ts";

/** What an event requires beyond its record. */
type Response = {
  /** Administrators are alerted at once. */
  alert: { level: Severity; key: string | null } | null;
  /** The subject whose requests are recorded in full for a while: `worker:ID` or `tenant:ID`. */
  watch: string | null;
  /** The worker against which there is evidence. */
  block: string | null;
  /** The reason why the hub locks itself. */
  lockdown: string | null;
};

const nothing: Response = { alert: null, watch: null, block: null, lockdown: null };

/** Ordinary events that administrators want to know about anyway. */
const notices: readonly string[] = [
  "WORKER_BLOCKED",
  "LOCKDOWN_LIFTED",
  "KEY_ROTATED",
  "KEY_REVOKED",
  "KEY_REJECTED",
  "KEY_ROTATION_DUE",
  "SCHEDULE_BLOCKED",
  "WEBHOOK_DISABLED",
];

/**
 * Each of these events changes whether jobs run, for its own reason, so it is never combined with the one before it.
 */
const turns: readonly string[] = ["LOCKDOWN", "TENANT_LOCKED", "LOCKDOWN_LIFTED"] satisfies EventKind[];

/**
 * HIGH events that a tenant can cause in any number. A limited number of alerts is sent each minute, and the rest is
 * summed up.
 */
const limitedKinds: readonly string[] = [
  "INVALID_SIGNATURE",
  "PATH_TRAVERSAL_ATTEMPT",
  "SECURITY_VIOLATION",
  "STORE_CORRUPT",
] satisfies EventKind[];

export function isLimited({ event }: { event: string }): boolean {
  return limitedKinds.includes(event);
}

const allKinds = Object.keys(eventTable) as EventKind[];
const isGrave = (kind: EventKind): boolean => ["HIGH", "CRITICAL"].includes(eventTable[kind].severity);

/** Everything that the rules below examine. */
export const answeredKinds = allKinds.filter(
  (kind) => isGrave(kind) || notices.includes(kind) || kind === "JOB_FAILED",
);

export const digestKinds = allKinds.filter((kind) => eventTable[kind].severity !== "LOW");

/**
 * The response to an event. A refused job is no evidence against the worker that refused it: only an event with
 * `evidence_against` leads to a block, and only the hub writes that field. Why: ADR 0014.
 */
export function responseTo(event: LoggedEvent): Response {
  const kind = event.event;
  if (kind === "JOB_FAILED") {
    // A job that ended as SECURITY_VIOLATION has an event of its own.
    return event.details["fail_code"] === "INVALID_JOB" ? { ...nothing, alert: alertOf(event) } : nothing;
  }
  const block = textOf(event.details["evidence_against"]);
  if (kind === "KEY_COMPROMISE_SUSPECTED") {
    return { alert: alertOf(event), watch: null, block, lockdown: "a signing key may have leaked" };
  }
  // A damaged job in the store points to the disk, not to a suspect.
  const isSuspicious = eventTable[kind].severity === "HIGH" && !kind.startsWith("STORE_");
  const watch = isSuspicious ? subjectOf(event, block) : null;
  return { alert: alertOf(event), watch, block, lockdown: null };
}

/** Why a worker is blocked. The hub writes both parts, so they may be shown wherever the block is. */
export function blockReason({ seq, event, details }: LoggedEvent): { reason: string; evidence: number } {
  const error = textOf(details["error"]);
  return { reason: error === null ? event : `${event}: ${error}`, evidence: seq };
}

/**
 * HIGH events are reported for each subject, which is the caller and the job; only equal events are combined. All other
 * events of a tenant and kind are equal.
 */
function alertOf(event: LoggedEvent): Response["alert"] {
  const level = eventTable[event.event].severity;
  if (turns.includes(event.event)) return { level, key: null };
  const { tenantId, jobId, ownerId, origin, details } = event;
  const about = tenantId ?? workerOf(event) ?? "";
  if (level !== "HIGH") return { level, key: `${event.event} ${about}` };
  const who = [ownerId, origin?.userId, origin?.ipAddress, workerOf(event)];
  const what = [jobId, textOf(details["violation_type"])];
  return { level, key: `${event.event} ${JSON.stringify([about, ...who, ...what])}` };
}

/** The worker against which there is evidence, else the tenant whose job it was, else the worker that ran it. */
function subjectOf(event: LoggedEvent, shown: string | null): string | null {
  if (shown !== null) return `worker:${shown}`;
  if (event.tenantId !== null) return `tenant:${event.tenantId}`;
  const workerId = workerOf(event);
  return workerId === null ? null : `worker:${workerId}`;
}

export function workerOf({ details }: Pick<LoggedEvent, "details">): string | null {
  return textOf(details["worker_id"]);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
