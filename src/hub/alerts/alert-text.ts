import type { EventKind } from "../../core/events.ts";
import type { NewMessage } from "../../store/response-store.ts";
import type { AlertSummary } from "./alert-budget.ts";
import type { Alert } from "./hold-down.ts";

/** Details that help people and contain no secret. A reason that a worker wrote stays in the log. */
const shownDetails = [
  "schedule",
  "webhook",
  "hook",
  "worker_id",
  "violation_type",
  "fail_code",
  "fail_detail",
  "evidence_against",
  "key_id",
] as const;

/** Events whose reason the hub or an administrator wrote. */
const hubReasons: readonly string[] = [
  "LOCKDOWN",
  "TENANT_LOCKED",
  "LOCKDOWN_LIFTED",
  "WORKER_BLOCKED",
  "SCHEDULE_BLOCKED",
  "WEBHOOK_DISABLED",
] satisfies EventKind[];

function timeOf(ms: unknown): string | null {
  return typeof ms === "number" ? new Date(ms).toISOString() : null;
}

/** An alert in a form for every channel: a subject, a few lines, and data for programs. */
export function alertText(alert: Alert, hub: string): Omit<NewMessage, "channel"> {
  const times = alert.count === 1 ? "" : ` (${alert.count} times)`;
  // The address is the caller's, which is not the user's if a worker has found something in the user's job.
  const isReported = alert.callerId !== alert.userId;
  const facts: [string, unknown][] = [
    ["time", timesOf(alert)],
    ["tenant", alert.tenantId],
    ["user", alert.userId],
    isReported ? ["reported by", reporterOf(alert)] : ["address", alert.ipAddress],
    ["call", alert.call],
    ["field", fieldsOf(alert.details["fields"])],
    ["job", alert.jobId],
    ...shownDetails.map((name): [string, unknown] => [name.replaceAll("_", " "), alert.details[name]]),
    ["why", hubReasons.includes(alert.event) ? alert.details["reason"] : null],
    ["worker is given no jobs until", timeOf(alert.details["paused_until"])],
    ["hub", hub],
  ];
  const search = `jobctl audit --event ${alert.event} shows the records (seq ${alert.firstSeq} to ${alert.lastSeq}).`;
  return {
    subject: `[${alert.level}] ${alert.event}${times}`,
    body: `${linesOf(facts)}\n\n${search}`,
    data: JSON.stringify({
      level: alert.level,
      event: alert.event,
      count: alert.count,
      first_seq: alert.firstSeq,
      last_seq: alert.lastSeq,
      first_ts: alert.firstTs,
      ts: alert.ts,
      tenant_id: alert.tenantId,
      job_id: alert.jobId,
      user_id: alert.userId,
      caller_id: alert.callerId,
      ip_address: alert.ipAddress,
      call: alert.call ?? null,
      hub,
      worker_id: alert.details["worker_id"] ?? null,
    }),
  };
}

/** The events that a tenant caused in a minute beyond the alerts that were sent one by one. */
export function summaryText(summary: AlertSummary, hub: string): Omit<NewMessage, "channel"> {
  const { count, firstSeq, lastSeq, firstTs, ts, tenantId, events } = summary;
  const facts: [string, unknown][] = [
    ["time", timesOf(summary)],
    ["tenant", tenantId],
    ...Object.entries(events).map(([event, times]): [string, unknown] => [event, String(times)]),
    ["hub", hub],
  ];
  const search = `jobctl audit --severity HIGH shows the records (seq ${firstSeq} to ${lastSeq}).`;
  return {
    subject: `[HIGH] ${count} more security events`,
    body: `${linesOf(facts)}\n\n${search}`,
    data: JSON.stringify({
      level: "HIGH",
      event: "SUMMARY",
      count,
      first_seq: firstSeq,
      last_seq: lastSeq,
      first_ts: firstTs,
      ts,
      tenant_id: tenantId,
      events,
      hub,
    }),
  };
}

function reporterOf({ callerId, ipAddress }: Alert): string | null {
  if (callerId === null) return ipAddress;
  return ipAddress === null ? callerId : `${callerId} from ${ipAddress}`;
}

function timesOf({ firstTs, ts }: { firstTs: number; ts: number }): string {
  const last = new Date(ts).toISOString();
  return firstTs === ts ? last : `${new Date(firstTs).toISOString()} to ${last}`;
}

/** The fields of a request whose paths were refused. Their values stay in the log. */
function fieldsOf(fields: unknown): string | null {
  return Array.isArray(fields) ? fields.join(", ") : null;
}

function linesOf(facts: [string, unknown][]): string {
  return facts
    .filter(([, value]) => typeof value === "string" && value !== "")
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}
