import type { AuditView } from "../../contract/shapes/audit-shapes.ts";
import { shortId } from "../parts/format.ts";

/** Describes a record in a sentence whose subject is the person or program that acted. */
export function trailText({ event, details, job_id, tenant_id, ip_address }: AuditView): string {
  const job = job_id === null ? "" : ` ${shortId(job_id)}`;
  const of = (name: string) =>
    details[name] === undefined || details[name] === null ? "" : String(details[name]);
  const from = ip_address === null ? "" : ` from ${ip_address}`;
  const sentences: Record<string, string> = {
    JOB_CREATED: `Submitted job${job} ${of("type")}`,
    JOB_ASSIGNED: `Leased job${job} to ${of("worker_id")}`,
    JOB_STARTED: `Started job${job} on ${of("worker_id")}`,
    JOB_COMPLETED: `Job${job} completed`,
    JOB_FAILED: `Job${job} failed: ${of("fail_code")} ${of("reason")}`,
    JOB_RETRYING: `Job${job} is tried again: ${of("reason")}`,
    JOB_QUARANTINED: `Job${job} became a dead letter: ${of("reason")}`,
    JOB_CANCEL_REQUESTED: `Cancelled job${job}`,
    JOB_DEDUPLICATED: `Job${job} stands for a duplicate`,
    JOB_HELD: `Held job${job}`,
    JOB_RESUMED: `Resumed job${job}`,
    JOBS_CHANGED: `${of("act") === "retry" ? "Retried" : "Cancelled"} ${of("done")} of ${of("matched")} jobs at once`,
    LOGIN_SUCCESS: `Logged in${from}`,
    LOGIN_FAILED: `Failed login${from}`,
    TOKEN_ISSUED: `Issued a token: ${of("role")} ${of("user_id")}`,
    TOKEN_REVOKED: `Revoked a token of ${of("user_id")}`,
    CERT_ISSUED: `Issued a certificate: ${of("role")} ${of("user_id")}`,
    CERT_REVOKED: `Revoked a certificate of ${of("user_id")}`,
    TOKEN_REFRESH: "Exchanged its token for a new one",
    WORKER_REGISTERED: `Worker ${of("worker_id")} registered`,
    WORKER_DEREGISTERED:
      of("by") === "person" ? `Removed worker ${of("worker_id")}` : `Worker ${of("worker_id")} left`,
    WORKER_INACTIVE: `Worker ${of("worker_id")} fell silent`,
    WORKER_TOKEN_ISSUED: `Issued a token to worker ${of("worker_id")}`,
    WORKER_BLOCKED: `Blocked worker ${of("worker_id")}: ${of("reason")}`,
    WORKER_UNBLOCKED: `Unblocked worker ${of("worker_id")}`,
    WORKER_DRAINED: `Drained worker ${of("worker_id")}`,
    WORKER_UNDRAINED: `Let worker ${of("worker_id")} work again`,
    KEY_ROTATED: `Rotated the signing key: ${of("key_id")} signs now`,
    KEY_REVOKED: `Revoked the signing key ${of("key_id")}`,
    LOCKDOWN: `Locked the hub: ${of("reason")}`,
    TENANT_LOCKED: `Locked tenant ${tenant_id ?? ""}: ${of("reason")}`,
    LOCKDOWN_LIFTED:
      tenant_id === null ? "Lifted the lockdown" : `Lifted the lockdown of tenant ${tenant_id}`,
    KEY_ROTATION_DUE: "The signing key should be rotated",
    ALERT_FAILED: `An alert could not be delivered: ${of("error")}`,
    QUEUE_PAUSED: `Paused type ${of("type")}`,
    QUEUE_RESUMED: `Resumed type ${of("type")}`,
    SCHEDULE_CHANGED: `Changed schedule ${of("schedule")}: ${of("act")}`,
    SCHEDULE_FIRED: `Schedule ${of("schedule")} made job ${of("job_id")}`,
    SCHEDULE_SKIPPED: `Schedule ${of("schedule")} made no job: ${of("reason")}`,
    SCHEDULE_BLOCKED: `Schedule ${of("schedule")} cannot make its job: ${of("reason")}`,
    SCHEDULE_RESET: `Schedule ${of("schedule")} continues from now: ${of("reason")}`,
    WEBHOOK_CHANGED: `Changed webhook ${of("webhook")}: ${of("act")}`,
    WEBHOOK_DISABLED: `Disabled webhook ${of("webhook")}: ${of("reason")}`,
    HOOK_CHANGED: `Changed hook ${of("hook")}: ${of("act")}`,
    QUOTA_CHANGED: `Changed the quota of tenant ${tenant_id ?? of("tenant_id")}`,
    PERMISSION_DENIED: `Was refused${job === "" ? "" : ` job${job}`}: ${of("error") || of("violation_type")}`,
    QUOTA_EXCEEDED: `Met a quota: ${of("error")}`,
    RATE_LIMIT_HIT: `Was too fast${from}`,
    INVALID_SIGNATURE: `A signature did not verify${job === "" ? "" : ` for job${job}`}: ${of("error")}`,
    PATH_TRAVERSAL_ATTEMPT:
      job === ""
        ? `Was refused ${of("paths") || "a path"}, which leaves its root`
        : `Job${job} tried to leave its paths: ${of("error")}`,
  };
  return (sentences[event] ?? plain(event)).trim().replace(/:$/, "");
}

function plain(event: string): string {
  const words = event.toLowerCase().replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
