import type { LoggedEvent, Severity } from "../../../core/events.ts";
import type { AuditMark } from "../../audit-store.ts";
import type { EntryEvent } from "../../frames/event-entry.ts";
import { type FrameRecord, isProven } from "../../frames/records.ts";
import type { AuditReader, HotRow } from "../../log/audit-reader.ts";
import { readEvent } from "../../log/stored-event.ts";
import { Connection } from "../database/connection.ts";
import { ReadContext } from "./read-context.ts";
import { framesAfter, recordsIn } from "./read-events.ts";

type Skipped = { seq: number; hash: string };

/** Reads the audit trail of a database as it was at one moment, without the key of the hub, even while a hub is using it. Why: ADR 0116. */
export function openAuditReader(path: string): AuditReader {
  const sql = new Connection(path, 5_000, { isReader: true });
  sql.script("BEGIN");
  // Nothing here is proven by the MAC, so no key is needed.
  const context = new ReadContext(sql, Buffer.alloc(32));
  const skipped = sql.all<Skipped>(
    "SELECT through_seq AS seq, hash FROM skipped_events ORDER BY through_seq",
  );
  return {
    rows: (afterSeq) => rowsAfter(context, skipped, afterSeq),
    marks: () => sql.all<AuditMark>("SELECT * FROM audit_marks ORDER BY seq"),
    lastSeq: () => Math.max(context.tallies.get("event_seq"), skipped.at(-1)?.seq ?? 0),
    close: () => sql.close(),
  };
}

function* rowsAfter(context: ReadContext, skipped: Skipped[], afterSeq: number): Generator<HotRow> {
  const gaps = skipped.filter(({ seq }) => seq > afterSeq);
  const pruned = context.tallies.get("pruned_event");
  for (const number of framesAfter(context, afterSeq, Number.MAX_SAFE_INTEGER)) {
    for (const read of recordsIn(context, number)) {
      while (gaps[0] !== undefined && gaps[0].seq < read.seq) yield gapRow(gaps.shift()!);
      // Of those that retention has taken, the last stays for its successor.
      if (read.seq > afterSeq && read.seq >= pruned) yield hotRow(read);
    }
  }
  for (const gap of gaps) yield gapRow(gap);
}

function gapRow({ seq, hash }: Skipped): HotRow {
  return { seq, event: null, seal: { severity: "LOW", hash } };
}

function hotRow(record: FrameRecord): HotRow {
  const { seq, hash, event } = record;
  const severity: Severity = event?.severity ?? "LOW";
  return { seq, event: event && exactEvent(record, event), seal: { severity, hash } };
}

/** A text that means the same in another spelling was not written by the hub, and must not pass for the original. */
function exactEvent(record: FrameRecord, { stored }: EntryEvent): LoggedEvent {
  if (isProven(record)) return readEvent(stored);
  const details = JSON.stringify({ text: stored.details });
  return readEvent({ ...stored, details, origin: null });
}
