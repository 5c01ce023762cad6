import type { LoggedEvent, Severity } from "../../core/events.ts";

/** Equal events, reported together. */
export type Alert = {
  level: Severity;
  event: string;
  count: number;
  firstSeq: number;
  lastSeq: number;
  /** When the first and the last of them happened. */
  firstTs: number;
  ts: number;
  tenantId: string | null;
  jobId: string | null;
  /** The user whose job it is, or else the caller. */
  userId: string | null;
  /** The caller, from `ipAddress`. If a worker found something in a job, that is the worker. */
  callerId: string | null;
  ipAddress: string | null;
  /** The method and the route that were called. */
  call: string | null;
  details: Record<string, unknown>;
};

type Held = { until: number; alert: Alert | null };
export type HeldAlerts = Record<string, Held>;

/**
 * The first event is reported at once; those that follow within this time are reported together, so that a storm causes
 * two messages.
 */
const holdMs = 600_000;
const keysMax = 1_000;

type HoldRule = {
  /** Events with the same key are equal. An event with null is equal to no other one, and is never held back. */
  key: string | null;
  level: Severity;
  nowMs: number;
  /** Called before the first event of a key is sent. If it returns false, the event is not held either. */
  maySend?: (alert: Alert) => boolean;
};

/** Adds an event and returns the alert to send now, or null while equal ones are held back. */
export function holdDown(held: HeldAlerts, event: LoggedEvent, rule: HoldRule): Alert | null {
  if (rule.key === null) return alertOf(event, rule.level);
  const isFull = Object.keys(held).length >= keysMax;
  const key = isFull && held[rule.key] === undefined ? event.event : rule.key;
  const known = held[key];
  if (known === undefined) {
    const alert = alertOf(event, rule.level);
    if (rule.maySend?.(alert) === false) return null;
    held[key] = { until: rule.nowMs + holdMs, alert: null };
    return alert;
  }
  const before = known.alert;
  known.alert =
    before === null
      ? alertOf(event, rule.level)
      : {
          // The newest event describes the present state.
          ...alertOf(event, rule.level),
          count: before.count + 1,
          firstSeq: before.firstSeq,
          firstTs: before.firstTs,
        };
  return null;
}

/** Alerts that were held back long enough. A key without any is removed. */
export function takeDue(held: HeldAlerts, nowMs: number): Alert[] {
  const due: Alert[] = [];
  for (const [key, one] of Object.entries(held)) {
    if (one.until > nowMs) continue;
    if (one.alert === null) delete held[key];
    else {
      due.push(one.alert);
      held[key] = { until: nowMs + holdMs, alert: null };
    }
  }
  return due;
}

function alertOf(event: LoggedEvent, level: Severity): Alert {
  const { seq, ts, tenantId, jobId, ownerId, origin, details } = event;
  const { userId: callerId = null, ipAddress = null } = origin ?? {};
  const when = { firstSeq: seq, lastSeq: seq, firstTs: ts, ts };
  const call = [origin?.method, origin?.endpoint].filter(Boolean).join(" ") || null;
  const who = { tenantId, jobId, userId: ownerId ?? callerId, callerId, ipAddress, call };
  return { level, event: event.event, count: 1, ...when, ...who, details };
}
