import type { JobRecord } from "./jobs/job.ts";

/**
 * The one append-only log: timeline, live events, outbox and audit trail are views of it. `live` is the name of the
 * event among server-sent events; events without one are only for the timeline and the audit trail. Why: ADR 0004.
 */
export const eventTable = {
  JOB_CREATED: { severity: "LOW", live: "created" },
  JOB_ASSIGNED: { severity: "LOW", live: "assigned" },
  JOB_STARTED: { severity: "LOW", live: "running" },
  JOB_PROGRESS: { severity: "LOW", live: "progress" },
  JOB_AGENT: { severity: "LOW", live: "agent" },
  JOB_COMPLETED: { severity: "LOW", live: "completed" },
  JOB_FAILED: { severity: "LOW", live: "failed" },
  JOB_RETRYING: { severity: "LOW", live: "retrying" },
  JOB_RELEASED: { severity: "LOW", live: "retrying" },
  JOB_QUARANTINED: { severity: "LOW", live: "quarantined" },
  JOB_DEDUPLICATED: { severity: "LOW", live: null },
  JOB_HELD: { severity: "LOW", live: "held" },
  JOB_RESUMED: { severity: "LOW", live: "unblocked" },
  JOB_CANCEL_REQUESTED: { severity: "LOW", live: null },
  JOB_STOPPED: { severity: "LOW", live: "stopped" },
  JOBS_CHANGED: { severity: "LOW", live: null },
  JOB_REMOVED: { severity: "LOW", live: null },
  OUTPUT_REMOVED: { severity: "LOW", live: null },
  LOGIN_SUCCESS: { severity: "LOW", live: null },
  LOGIN_FAILED: { severity: "LOW", live: null },
  TOKEN_ISSUED: { severity: "LOW", live: null },
  TOKEN_REVOKED: { severity: "LOW", live: null },
  TOKEN_REFRESH: { severity: "LOW", live: null },
  CERT_ISSUED: { severity: "LOW", live: null },
  CERT_REVOKED: { severity: "LOW", live: null },
  WORKER_REGISTERED: { severity: "LOW", live: null },
  WORKER_DEREGISTERED: { severity: "LOW", live: null },
  WORKER_INACTIVE: { severity: "LOW", live: null },
  WORKER_TOKEN_ISSUED: { severity: "LOW", live: null },
  WORKER_BLOCKED: { severity: "LOW", live: null },
  WORKER_UNBLOCKED: { severity: "LOW", live: null },
  WORKER_DRAINED: { severity: "LOW", live: null },
  WORKER_UNDRAINED: { severity: "LOW", live: null },
  HUB_RESTORED: { severity: "MEDIUM", live: null },
  KEY_ROTATED: { severity: "MEDIUM", live: null },
  KEY_REVOKED: { severity: "MEDIUM", live: null },
  KEY_REJECTED: { severity: "MEDIUM", live: null },
  KEY_ROTATION_DUE: { severity: "MEDIUM", live: null },
  LOCKDOWN: { severity: "CRITICAL", live: null },
  TENANT_LOCKED: { severity: "HIGH", live: null },
  LOCKDOWN_LIFTED: { severity: "LOW", live: null },
  KEY_COMPROMISE_SUSPECTED: { severity: "CRITICAL", live: null },
  MONITORING_RAISED: { severity: "LOW", live: null },
  REQUEST_RECORDED: { severity: "LOW", live: null },
  ALERT_FAILED: { severity: "LOW", live: null },
  QUEUE_PAUSED: { severity: "LOW", live: null },
  QUEUE_RESUMED: { severity: "LOW", live: null },
  SCHEDULE_CHANGED: { severity: "LOW", live: null },
  SCHEDULE_FIRED: { severity: "LOW", live: null },
  SCHEDULE_SKIPPED: { severity: "LOW", live: null },
  SCHEDULE_BLOCKED: { severity: "LOW", live: null },
  SCHEDULE_RESET: { severity: "LOW", live: null },
  WEBHOOK_CHANGED: { severity: "LOW", live: null },
  WEBHOOK_DISABLED: { severity: "MEDIUM", live: null },
  HOOK_CHANGED: { severity: "LOW", live: null },
  QUOTA_CHANGED: { severity: "LOW", live: null },
  STALE_RESULT_REJECTED: { severity: "LOW", live: null },
  CONFLICTING_RESULT_REJECTED: { severity: "MEDIUM", live: null },
  RATE_LIMIT_HIT: { severity: "LOW", live: null },
  PERMISSION_DENIED: { severity: "MEDIUM", live: null },
  QUOTA_EXCEEDED: { severity: "MEDIUM", live: null },
  STORE_ROLLED_BACK: { severity: "HIGH", live: null },
  STORE_CORRUPT: { severity: "HIGH", live: null },
  INVALID_SIGNATURE: { severity: "HIGH", live: null },
  PATH_TRAVERSAL_ATTEMPT: { severity: "HIGH", live: null },
  SECURITY_VIOLATION: { severity: "HIGH", live: null },
} as const satisfies Record<string, { severity: Severity; live: string | null }>;

export type Severity = "LOW" | "MEDIUM" | "HIGH" | "CRITICAL";
export type EventKind = keyof typeof eventTable;

/** Where a request came from, as far as the audit trail needs it. */
export type Origin = {
  userId: string | null;
  ipAddress: string | null;
  userAgent: string | null;
  endpoint: string | null;
  method: string | null;
};

/** An event before it is in the log. */
export type NewEvent = {
  event: EventKind;
  ts: number;
  tenantId: string | null;
  jobId: string | null;
  /** The user whose job it is, who may see the event along with administrators. */
  ownerId: string | null;
  details: Record<string, unknown>;
  origin: Origin | null;
};

/** An event in the log. `jobSeq` counts the events of one job from 1 without gaps. */
export type LoggedEvent = NewEvent & { seq: number; jobSeq: number | null };

/** An event of a job before it is in the log; each job numbers its own events. */
export type JobEvent = NewEvent & { jobId: string; jobSeq: number };

/** Describes what happened to a job. Every event also contains the state of the job after it. */
export function jobEvent(
  job: JobRecord,
  { event, details }: { event: EventKind; details: Record<string, unknown> },
  { ts, jobSeq, origin }: { ts: number; jobSeq: number; origin: Origin | null },
): JobEvent {
  const { type, status, workerId, attempt, priority, heldAt } = job;
  const held = heldAt === null ? {} : { held_at: heldAt };
  return {
    event,
    ts,
    tenantId: job.tenantId,
    jobId: job.id,
    ownerId: job.userId,
    jobSeq,
    details: { type, status, worker_id: workerId, attempt, priority, ...held, ...details },
    origin,
  };
}
