import { lastHashIn } from "../../frames/records.ts";
import { firstHash } from "../../log/audit-record.ts";
import type { Connection } from "../database/connection.ts";
import { lastFrame } from "../frames/frame-rows.ts";

/** The hash of the last record of the audit trail, which the next one follows. Why: ADR 0116. */
export type ChainEnd = string;

export function loadChainEnd(sql: Connection): ChainEnd {
  const last = lastFrame(sql);
  const skipped = sql.first<{ seq: number; hash: string }>(
    "SELECT through_seq AS seq, hash FROM skipped_events ORDER BY through_seq DESC LIMIT 1",
  );
  if (skipped !== null && skipped.seq > (last?.lastEvent ?? 0)) return skipped.hash;
  return last === null ? firstHash : lastHashIn(last.head);
}
