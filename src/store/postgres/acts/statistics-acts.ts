import { Period } from "../../../core/statistics/period.ts";
import { periodStart, resolutions } from "../../../core/statistics/ranges.ts";
import type { StatisticsFilter, StoredPeriod } from "../../statistics-store.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";

type Key = { tenantId: string | null; lengthMs: number; start: number };

/**
 * All hubs write at the same moments, so they take the rows in one order, or each would wait for the other.
 * Why: ADR 0047.
 */
export async function addStatistics(
  tx: Transaction,
  { periods, nowMs }: { periods: StoredPeriod[]; nowMs: number },
): Promise<void> {
  const placeOf = ({ tenantId, start }: StoredPeriod) => `${tenantId ?? ""} ${start}`;
  const inOrder = periods.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
  for (const { lengthMs, keptMs } of resolutions) {
    for (const { tenantId, start, period } of inOrder)
      await addPeriod(tx, { tenantId, lengthMs, start: periodStart(start, lengthMs) }, period);
    tx.send("DELETE FROM statistics WHERE length_ms = $1 AND start < $2", lengthMs, nowMs - keptMs);
  }
}

/** Whichever hub begins a period first, both add to the same row. */
async function addPeriod(tx: Transaction, { tenantId, lengthMs, start }: Key, added: string): Promise<void> {
  const key = [tenantId ?? "", lengthMs, start];
  tx.send(
    "INSERT INTO statistics (tenant_id, length_ms, start, period) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    ...key,
    new Period().text(),
  );
  const known = await tx.sql.first<{ period: string }>(
    "SELECT period FROM statistics WHERE tenant_id = $1 AND length_ms = $2 AND start = $3 FOR UPDATE",
    ...key,
  );
  tx.send(
    "UPDATE statistics SET period = $4 WHERE tenant_id = $1 AND length_ms = $2 AND start = $3",
    ...key,
    sumOf(known!.period, added),
  );
}

function sumOf(a: string, b: string): string {
  const sum = Period.read(a);
  sum.merge(Period.read(b));
  return sum.text();
}

export function readStatistics(
  sql: Connection,
  { tenantId, lengthMs, from, until }: StatisticsFilter,
): Promise<{ start: number; period: string }[]> {
  return sql.all(
    `SELECT start, period FROM statistics
      WHERE tenant_id = $1 AND length_ms = $2 AND start >= $3 AND start < $4 ORDER BY start`,
    tenantId ?? "",
    lengthMs,
    from,
    until,
  );
}
