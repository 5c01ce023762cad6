import type { Context } from "../context.ts";
import type { Connection } from "../database/connection.ts";

/**
 * What retention has overwritten is still in the write-ahead log, in older copies of its pages. The log is emptied with the next rows
 * that are written, so that many removals share it. A reader may be using the log: then it is tried again a moment later.
 * Why: ADR 0116.
 */
export function truncateLog(context: Context): void {
  if (context.removal === "due" && isTruncated(context.sql)) context.removal = "none";
}

function isTruncated(sql: Connection): boolean {
  const { timeout } = sql.first<{ timeout: number }>("PRAGMA busy_timeout")!;
  sql.script("PRAGMA busy_timeout = 0");
  try {
    return sql.first<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0;
  } finally {
    sql.script(`PRAGMA busy_timeout = ${timeout}`);
  }
}
