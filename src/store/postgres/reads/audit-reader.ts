import type { AuditMark } from "../../audit-store.ts";
import { type AuditReader, type JoinedRow, readHotRow } from "../../log/audit-reader.ts";
import { openServer } from "../connection/check-server.ts";
import { eventColumns } from "../log/event-log.ts";

const pageRows = 1_000;

const pageText = `SELECT ${eventColumns}, severity, hash
  FROM (SELECT * FROM events WHERE seq > $1 ORDER BY seq LIMIT ${pageRows}) AS e
    FULL OUTER JOIN (SELECT * FROM audit_seals WHERE seq > $1 ORDER BY seq LIMIT ${pageRows}) AS s USING (seq)
  ORDER BY seq LIMIT ${pageRows}`;

/** Reads the audit trail of a database as it was at one moment, even while a hub is using it. Why: ADR 0088. */
export async function openAuditReader(url: string): Promise<AuditReader> {
  // A whole trail takes long, and its reader may pause in between.
  const sql = await openServer({ url, idleInTransactionMs: 0 });
  await sql.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  return {
    async *rows(afterSeq) {
      for (let after: number | null = afterSeq; after !== null; ) {
        const page: JoinedRow[] = await sql.all<JoinedRow>(pageText, after);
        for (const row of page) yield readHotRow(row);
        after = page.at(-1)?.seq ?? null;
      }
    },
    marks: () => sql.all<AuditMark>("SELECT * FROM audit_marks ORDER BY seq"),
    lastSeq: async () => (await sql.first<{ last: number }>("SELECT last FROM log_state"))!.last,
    close: () => sql.close(),
  };
}
