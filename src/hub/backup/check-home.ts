import { findBrokenSeals } from "../../store/sqlite/seal-reader.ts";
import { type AuditSource, verifyAudit } from "../audit/verify-audit.ts";

export const faultsShown = 20;

type HomeFindings = {
  /** Records of the audit trail. */
  records: number;
  /** Documents and receipts whose seals were checked. */
  seals: number;
  /** Jobs that were already refused because of their seals. */
  refused: number;
  auditFaults: string[];
  /** The first jobs that do not match their seals. */
  damaged: string[];
};

/** Everything that must hold before a home is restored: the audit trail, and the seal of every document. */
export async function checkHome(source: AuditSource, macKey: Buffer): Promise<HomeFindings> {
  const { faults, records } = await verifyAudit(source);
  const { checked, broken, refused } = findBrokenSeals(source.databasePath, macKey, faultsShown);
  const auditFaults = faults.map(({ seq, what }) => (seq === null ? what : `audit record ${seq} ${what}`));
  return { records, seals: checked, refused, auditFaults, damaged: broken };
}

export function sealFault(jobId: string): string {
  return `job ${jobId} does not match its seal`;
}
