import { DatabaseSync } from "node:sqlite";
import type { AuditMark } from "../../audit-store.ts";
import { type AuditReader, type JoinedRow, readHotRow } from "../../log/audit-reader.ts";
import { refuseForeignFile } from "../database/foreign-file.ts";

const text = `SELECT seq, ts, event, tenant_id AS tenantId, job_id AS jobId, owner_id AS ownerId, job_seq AS jobSeq, details,
    origin, severity, hash
  FROM events FULL OUTER JOIN audit_seals USING (seq) WHERE seq > ? ORDER BY seq`;

/** Reads the audit trail of a database as it was at one moment, even while a hub is using it. Why: ADR 0014. */
export function openAuditReader(path: string): AuditReader {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    refuseForeignFile(database, path);
    database.exec("BEGIN");
    return {
      *rows(afterSeq) {
        for (const row of database.prepare(text).iterate(afterSeq)) yield readHotRow(row as JoinedRow);
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
