import type { EventKind } from "../../core/events.ts";
import type { NewMessage } from "../../store/response-store.ts";
import type { Alert } from "./hold-down.ts";

/** Facts that help people and contain no secret. A reason written by a worker stays in the log. */
const toldDetails = [
  "worker_id",
  "violation_type",
  "fail_code",
  "fail_detail",
  "evidence_against",
  "key_id",
] as const;

/** Events whose reason was written by the hub or by an administrator. */
const hubReasons: readonly string[] = [
  "LOCKDOWN",
  "TENANT_LOCKED",
  "LOCKDOWN_LIFTED",
  "WORKER_BLOCKED",
] satisfies EventKind[];

/** An alert in a form for every channel: a subject, a few lines, and data for programs. */
export function alertText(alert: Alert, hubUrl: string | null): Omit<NewMessage, "channel"> {
  const times = alert.count === 1 ? "" : ` (${alert.count} times)`;
  const facts: [string, unknown][] = [
    ["time", new Date(alert.ts).toISOString()],
    ["tenant", alert.tenantId],
    ["job", alert.jobId],
    ...toldDetails.map((name): [string, unknown] => [name.replaceAll("_", " "), alert.details[name]]),
    ["why", hubReasons.includes(alert.event) ? alert.details["reason"] : null],
    ["hub", hubUrl],
  ];
  const lines = facts
    .filter(([, value]) => typeof value === "string" && value !== "")
    .map(([name, value]) => `${name}: ${value}`);
  const search = `jobctl audit --event ${alert.event} shows the records (seq ${alert.firstSeq} to ${alert.lastSeq}).`;
  return {
    subject: `[${alert.level}] ${alert.event}${times}`,
    body: `${lines.join("\n")}\n\n${search}`,
    data: JSON.stringify({
      level: alert.level,
      event: alert.event,
      count: alert.count,
      first_seq: alert.firstSeq,
      last_seq: alert.lastSeq,
      ts: alert.ts,
      tenant_id: alert.tenantId,
      job_id: alert.jobId,
      worker_id: alert.details["worker_id"] ?? null,
    }),
  };
}
