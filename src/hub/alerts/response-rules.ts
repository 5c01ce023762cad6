import { type EventKind, eventTable, type LoggedEvent, type Severity } from "../../core/events.ts";

/** What an event asks for beyond its record. */
type Response = {
  /** Administrators hear of it at once. */
  alert: { level: Severity; key: string } | null;
  /** Whose requests are recorded in full for a while: `worker:ID` or `tenant:ID`. */
  watch: string | null;
  /** The worker that is shown to have done it. */
  block: string | null;
  /** A suspicion that stops everything by itself. */
  lockdown: string | null;
};

const nothing: Response = { alert: null, watch: null, block: null, lockdown: null };

/** Ordinary events that administrators want to hear of all the same. */
const notices: readonly string[] = [
  "WORKER_BLOCKED",
  "LOCKDOWN_LIFTED",
  "KEY_ROTATED",
  "KEY_REVOKED",
  "KEY_REJECTED",
  "KEY_ROTATION_DUE",
];

const allKinds = Object.keys(eventTable) as EventKind[];
const isGrave = (kind: EventKind): boolean => ["HIGH", "CRITICAL"].includes(eventTable[kind].severity);

/** Everything that the rules below look at. */
export const answeredKinds = allKinds.filter(
  (kind) => isGrave(kind) || notices.includes(kind) || kind === "JOB_FAILED",
);

export const digestKinds = allKinds.filter((kind) => eventTable[kind].severity !== "LOW");

/**
 * What to do about an event. A job that was refused says nothing about the worker that refused it: only an event
 * that names somebody in `evidence_against` leads to a block, and only the hub writes that field.
 */
export function responseTo(event: LoggedEvent): Response {
  const kind = event.event;
  if (kind === "JOB_FAILED") {
    // A job that ended as SECURITY_VIOLATION has an event of its own.
    return event.details["fail_code"] === "INVALID_JOB" ? { ...nothing, alert: alertOf(event) } : nothing;
  }
  const block = textOf(event.details["evidence_against"]);
  if (kind === "KEY_COMPROMISE_SUSPECTED") {
    return { alert: alertOf(event), watch: null, block, lockdown: "a signing key may be in other hands" };
  }
  const watch = eventTable[kind].severity === "HIGH" ? subjectOf(event, block) : null;
  return { alert: alertOf(event), watch, block, lockdown: null };
}

function alertOf(event: LoggedEvent): Response["alert"] {
  const about = event.tenantId ?? workerOf(event) ?? "";
  return { level: eventTable[event.event].severity, key: `${event.event} ${about}` };
}

/** Who is shown to have done it, else the tenant whose job it was, else the worker that it happened on. */
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
