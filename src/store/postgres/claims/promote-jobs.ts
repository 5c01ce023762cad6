import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";

type Promoted = { id: number; key: string; count: number; rank: number; seq: number };

/** Rows that somebody else is about to move are left to them. */
const promoteText = `WITH gone AS (
    DELETE FROM delayed WHERE seq IN (
      SELECT seq FROM delayed WHERE run_at <= $1 ORDER BY run_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING *),
  came AS (INSERT INTO ready SELECT * FROM gone)
  SELECT q.id, q.key, count(*) AS count, min(gone.rank) AS rank, min(gone.seq) AS seq
    FROM gone JOIN queues q ON q.id = gone.queue_id GROUP BY q.id, q.key`;

/** Makes delayed jobs claimable once they are due; returns when the next one is due. Why: ADR 0080. */
export async function promoteJobs(
  tx: Transaction,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<{ nextRunAt: number | null }> {
  notePromoted(tx, await promoteDue(tx.sql, nowMs, limit));
  const opensAt = await tx.lanes.openDue({ nowMs, limit });
  const row = await tx.sql.first<{ at: number | null }>("SELECT min(run_at) AS at FROM delayed");
  const times = [row!.at, opensAt].filter((at) => at !== null);
  return { nextRunAt: times.length === 0 ? null : Math.min(...times) };
}

export function promoteDue(sql: Connection, nowMs: number, limit: number): Promise<Promoted[]> {
  return sql.all<Promoted>(promoteText, nowMs, limit);
}

export function notePromoted(tx: Transaction, promoted: Promoted[]): void {
  const { work } = tx;
  for (const { id, key, count, rank, seq } of promoted) {
    work.notice.ready(key, count);
    tx.promoted(id, { rank, seq });
  }
  if (promoted.length > 0) work.isNews = true;
}
