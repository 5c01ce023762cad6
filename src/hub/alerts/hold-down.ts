import type { LoggedEvent, Severity } from "../../core/events.ts";

/** Events of one kind about one subject, reported together. */
export type Alert = {
  level: Severity;
  event: string;
  count: number;
  firstSeq: number;
  lastSeq: number;
  ts: number;
  tenantId: string | null;
  jobId: string | null;
  details: Record<string, unknown>;
};

type Held = { until: number; alert: Alert | null };
export type HeldAlerts = Record<string, Held>;

/**
 * The first event is reported at once; those that follow within this time are reported as one, so that a storm is two
 * messages.
 */
const holdMs = 600_000;
const keysMax = 256;

/** Adds an event and returns the alert to send now, or null while similar ones are held back. */
export function holdDown(
  held: HeldAlerts,
  event: LoggedEvent,
  given: { key: string; level: Severity; nowMs: number },
): Alert | null {
  const isFull = Object.keys(held).length >= keysMax;
  const key = isFull && held[given.key] === undefined ? event.event : given.key;
  const known = held[key];
  if (known === undefined) {
    held[key] = { until: given.nowMs + holdMs, alert: null };
    return alertOf(event, given.level);
  }
  const before = known.alert;
  known.alert =
    before === null
      ? alertOf(event, given.level)
      : { ...before, count: before.count + 1, lastSeq: event.seq, ts: event.ts };
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
  const { seq, ts, tenantId, jobId, details } = event;
  return { level, event: event.event, count: 1, firstSeq: seq, lastSeq: seq, ts, tenantId, jobId, details };
}
