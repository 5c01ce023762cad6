// Adds periods to the stored statistics, and reads them. Why: ADR 0047.
import { Period } from "../../../core/statistics/period.ts";
import { periodStart, resolutions } from "../../../core/statistics/ranges.ts";
import type { StatisticsFilter, StoredPeriod } from "../../statistics-store.ts";
import type { ColdContext } from "../context.ts";
import type { ReadContext } from "../reads/read-context.ts";

type Key = { tenantId: string | null; lengthMs: number; start: number };

export function addStatistics(
  context: ColdContext,
  { periods, nowMs }: { periods: StoredPeriod[]; nowMs: number },
): void {
  for (const { lengthMs, keptMs } of resolutions) {
    for (const { tenantId, start, period } of periods) {
      addPeriod(context, { tenantId, lengthMs, start: periodStart(start, lengthMs) }, period);
    }
    context.sql.run("DELETE FROM statistics WHERE length_ms = ? AND start < ?", lengthMs, nowMs - keptMs);
  }
}

function addPeriod(context: ColdContext, { tenantId, lengthMs, start }: Key, added: string): void {
  const known = context.sql.first<{ period: string }>(
    "SELECT period FROM statistics WHERE tenant_id = ? AND length_ms = ? AND start = ?",
    tenantId ?? "",
    lengthMs,
    start,
  );
  context.sql.run(
    `INSERT INTO statistics (tenant_id, length_ms, start, period) VALUES (?, ?, ?, ?)
      ON CONFLICT (tenant_id, length_ms, start) DO UPDATE SET period = excluded.period`,
    tenantId ?? "",
    lengthMs,
    start,
    known === null ? added : sumOf(known.period, added),
  );
}

function sumOf(a: string, b: string): string {
  const sum = Period.read(a);
  sum.merge(Period.read(b));
  return sum.text();
}

export function readStatistics(
  context: Pick<ReadContext, "sql">,
  { tenantId, lengthMs, from, until }: StatisticsFilter,
): { start: number; period: string }[] {
  return context.sql
    .all<{ start: number; period: string }>(
      `SELECT start, period FROM statistics
        WHERE tenant_id = ? AND length_ms = ? AND start >= ? AND start < ? ORDER BY start`,
      tenantId ?? "",
      lengthMs,
      from,
      until,
    )
    .map(({ start, period }) => ({ start, period }));
}
