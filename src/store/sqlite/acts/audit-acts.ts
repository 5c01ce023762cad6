// Signed heads of the audit trail. Why: ADR 0014.
import { type AuditMark, headsMax } from "../../audit-store.ts";
import type { Context } from "../context.ts";

export function saveAuditMark(context: Pick<Context, "sql">, { mark }: { mark: AuditMark }): void {
  context.sql.run(
    `INSERT INTO audit_marks (audit, seq, hash, ts, key_id, signature) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (audit, seq) DO NOTHING`,
    mark.audit,
    mark.seq,
    mark.hash,
    mark.ts,
    mark.key_id,
    mark.signature,
  );
  context.sql.run(
    `DELETE FROM audit_marks WHERE audit = ?1 AND seq <
      (SELECT seq FROM audit_marks WHERE audit = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)`,
    mark.audit,
    headsMax,
  );
}

/** The newest statement of this kind. */
export function findAuditMark(
  context: Pick<Context, "sql">,
  { audit }: { audit: AuditMark["audit"] },
): AuditMark | null {
  return context.sql.first<AuditMark>(
    "SELECT * FROM audit_marks WHERE audit = ? ORDER BY seq DESC LIMIT 1",
    audit,
  );
}
