import type { EventView, HubPart, LiveEvent } from "../../contract/shapes/view-shapes.ts";
import { type EventKind, eventTable, type LoggedEvent } from "../../core/events.ts";

/** An event in a job's timeline. */
export function eventView(event: LoggedEvent): EventView {
  return {
    seq: event.seq,
    event: event.event,
    ts: event.ts,
    job_seq: event.jobSeq,
    severity: eventTable[event.event].severity,
    details: { ...event.details, ...reportedProgress(event) },
    ...(event.origin?.userId ? { user_id: event.origin.userId } : {}),
  };
}

/** The part of the hub that an event changes, for pages that show it. */
const hubParts: Partial<Record<EventKind, HubPart>> = {
  WORKER_REGISTERED: "workers",
  WORKER_DEREGISTERED: "workers",
  WORKER_INACTIVE: "workers",
  WORKER_BLOCKED: "workers",
  WORKER_UNBLOCKED: "workers",
  WORKER_DRAINED: "workers",
  WORKER_UNDRAINED: "workers",
  LOCKDOWN: "lockdown",
  TENANT_LOCKED: "lockdown",
  LOCKDOWN_LIFTED: "lockdown",
  QUEUE_PAUSED: "queues",
  QUEUE_RESUMED: "queues",
  QUOTA_CHANGED: "queues",
  KEY_ROTATED: "keys",
  KEY_REVOKED: "keys",
};
export const hubKinds = Object.keys(hubParts) as EventKind[];

/** Names only the changed part: each reader then reads it with its own rights. */
export function hubEvent({ event }: LoggedEvent): { name: string; data: { part: HubPart } } | null {
  const part = hubParts[event];
  return part === undefined ? null : { name: "hub:changed", data: { part } };
}

/** The events that live streams show. */
export const liveKinds = (Object.keys(eventTable) as EventKind[]).filter(
  (kind) => eventTable[kind].live !== null,
);

export function liveEvent(event: LoggedEvent): { name: string; data: LiveEvent } {
  const { type, status, worker_id, attempt, priority, fail_code, ...details } = event.details as LiveEvent;
  return {
    name: `job:${eventTable[event.event].live}`,
    data: {
      id: event.jobId!,
      type,
      status,
      worker_id,
      attempt,
      priority,
      ts: event.ts,
      ...(fail_code === undefined ? {} : { fail_code }),
      ...(event.event === "JOB_AGENT" ? agentCall(details) : {}),
      ...reportedProgress(event),
    },
  };
}

function agentCall({ call, tool, title, path, call_status }: Partial<LiveEvent>): Partial<LiveEvent> {
  return { call, tool, title, ...(path === undefined ? {} : { path }), call_status };
}

/** Progress is stored as the worker sent it: one text. */
function reportedProgress({ details: { progress: text } }: LoggedEvent): {
  progress?: number;
  detail?: string;
} {
  if (text === undefined) return {};
  const { progress, detail } = JSON.parse(String(text)) as { progress: number; detail: string | null };
  return detail === null ? { progress } : { progress, detail };
}
