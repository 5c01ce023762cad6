import type { EventView, LiveEvent } from "../../contract/view-shapes.ts";
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
  };
}

/** The events that live streams show. */
export const liveKinds = (Object.keys(eventTable) as EventKind[]).filter(
  (kind) => eventTable[kind].live !== null,
);

export function liveEvent(event: LoggedEvent): { name: string; data: LiveEvent } {
  const { type, status, worker_id, attempt, priority, fail_code } = event.details as LiveEvent;
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
      ...reportedProgress(event),
    },
  };
}

/** It is stored as the worker sent it: one text. */
function reportedProgress({ details: { progress: text } }: LoggedEvent): {
  progress?: number;
  detail?: string;
} {
  if (text === undefined) return {};
  const { progress, detail } = JSON.parse(String(text)) as { progress: number; detail: string | null };
  return detail === null ? { progress } : { progress, detail };
}
