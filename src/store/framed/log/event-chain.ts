import { listedEntries } from "../../frames/frame.ts";
import { firstHash } from "../../log/audit-record.ts";
import type { Connection } from "../../sqlite/database/connection.ts";

/** The hash of the last record of the audit trail, which the next one follows. */
export type ChainEnd = string;

export function loadChainEnd(sql: Connection): ChainEnd {
  const last = sql.first<{ lastEvent: number; head: Uint8Array }>(
    "SELECT last_event AS lastEvent, head FROM frames WHERE last_event >= first_event ORDER BY number DESC LIMIT 1",
  );
  const skipped = sql.first<{ seq: number; hash: string }>(
    "SELECT through_seq AS seq, hash FROM skipped_events ORDER BY through_seq DESC LIMIT 1",
  );
  if (skipped !== null && skipped.seq > (last?.lastEvent ?? 0)) return skipped.hash;
  return last === null ? firstHash : lastHash(Buffer.from(last.head));
}

function lastHash(head: Buffer): string {
  const { listAt, starts } = listedEntries(head, "events");
  const at = listAt + 36 * (starts.length - 2) + 4;
  return head.toString("hex", at, at + 32);
}
