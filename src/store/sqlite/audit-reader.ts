import { DatabaseSync } from "node:sqlite";
import type { ChainSeal } from "../audit-chain.ts";
import type { AuditReader, HotRow } from "../audit-reader.ts";
import type { AuditMark } from "../audit-store.ts";
import { readEventExactly, type StoredEvent } from "../stored-event.ts";
import { eventColumns } from "./event-log.ts";

const text = `SELECT ${eventColumns}, severity, hash
  FROM events FULL OUTER JOIN audit_seals USING (seq) WHERE seq > ? ORDER BY seq`;

/** A row of the outer join: all columns of a side are null where that side is missing. */
type JoinedRow = { [Field in keyof (StoredEvent & ChainSeal)]: (StoredEvent & ChainSeal)[Field] | null };

/** Reads the audit trail of a database as it was at one moment, even while a hub is using it. */
export function openAuditReader(path: string): AuditReader {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    database.exec("BEGIN");
    return {
      *rows(afterSeq) {
        for (const row of database.prepare(text).iterate(afterSeq)) yield readRow(row as JoinedRow);
      },
      marks: () => database.prepare("SELECT * FROM audit_marks ORDER BY seq").all() as AuditMark[],
      lastSeq: () => {
        const row = database.prepare("SELECT value FROM tallies WHERE name = 'event_seq'").get();
        return Number(row?.["value"] ?? 0);
      },
      close: () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function readRow(row: JoinedRow): HotRow {
  const { hash, severity } = row;
  return {
    seq: row.seq!,
    event: row.event === null ? null : readEventExactly(row as StoredEvent),
    seal: hash === null || severity === null ? null : { hash, severity },
  };
}
