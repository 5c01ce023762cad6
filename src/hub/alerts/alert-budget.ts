import type { Alert } from "./hold-down.ts";

/** What a tenant has caused in the current minute: how many alerts were sent, and a summary of the rest. */
type Spent = { until: number; sent: number; more: AlertSummary | null };
export type AlertBudgets = Record<string, Spent>;

/** Alerts that were not sent one by one, because the tenant had its share of the minute. */
export type AlertSummary = {
  count: number;
  firstSeq: number;
  lastSeq: number;
  firstTs: number;
  ts: number;
  tenantId: string | null;
  /** How many of each event. */
  events: Record<string, number>;
};

const windowMs = 60_000;
/** People do not read more messages than this in a minute one by one. */
const alertsMax = 10;
/** Tenants beyond this number share one budget, so that names cannot fill the memory. */
const tenantsMax = 1_000;

/**
 * Whether this alert may be sent by itself. If not, it is counted for the summary at the end of the minute.
 * Why: ADR 0100.
 */
export function maySend(budgets: AlertBudgets, alert: Alert, nowMs: number): boolean {
  // With the prefix, no tenant's name equals a property that every object has.
  const own = `tenant ${alert.tenantId ?? ""}`;
  const isFull = budgets[own] === undefined && Object.keys(budgets).length >= tenantsMax;
  const key = isFull ? "others" : own;
  budgets[key] ??= { until: nowMs + windowMs, sent: 0, more: null };
  const spent = budgets[key];
  if (spent.sent < alertsMax) {
    spent.sent++;
    return true;
  }
  spent.more = added(spent.more, { ...alert, tenantId: isFull ? null : alert.tenantId });
  return false;
}

/** The summaries of minutes that have ended. A tenant without one is removed. */
export function takeSummaries(budgets: AlertBudgets, nowMs: number): AlertSummary[] {
  const over = Object.entries(budgets).filter(([, { until }]) => until <= nowMs);
  for (const [key] of over) delete budgets[key];
  return over.flatMap(([, { more }]) => more ?? []);
}

/** An alert that was held back for minutes is older than the ones before it, so both ends are compared. */
function added(before: AlertSummary | null, alert: Alert): AlertSummary {
  const { count, firstSeq, lastSeq, firstTs, ts, tenantId } = alert;
  const events = { ...before?.events };
  events[alert.event] = (events[alert.event] ?? 0) + count;
  if (before === null) return { count, firstSeq, lastSeq, firstTs, ts, tenantId, events };
  return {
    count: before.count + count,
    firstSeq: Math.min(before.firstSeq, firstSeq),
    lastSeq: Math.max(before.lastSeq, lastSeq),
    firstTs: Math.min(before.firstTs, firstTs),
    ts: Math.max(before.ts, ts),
    tenantId: before.tenantId,
    events,
  };
}
