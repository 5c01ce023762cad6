import { type AuditSource, verifyAudit } from "../audit/verify-audit.ts";
import { findBrokenSeals } from "../database/open-database.ts";

export const faultsShown = 20;

export type HomeFindings = {
  /** Records of the audit trail. */
  records: number;
  /** Documents and receipts whose seals were checked. */
  seals: number;
  /** Jobs that were already refused because of their seals. */
  refused: number;
  auditFaults: string[];
  /** The parts of the audit trail that could not be checked in this home. */
  unchecked: string[];
  /** The first jobs that do not match their seals. */
  damaged: string[];
};

/** Everything that must hold before a home is restored: the audit trail, and the seal of every document. */
export async function checkHome(source: AuditSource, macKey: Buffer): Promise<HomeFindings> {
  const { faults, records, unchecked } = await verifyAudit(source);
  const { checked, broken, refused } = await findBrokenSeals(source.database, { macKey, most: faultsShown });
  const auditFaults = faults.map(({ seq, what }) => (seq === null ? what : `audit record ${seq} ${what}`));
  return { records, seals: checked, refused, auditFaults, unchecked, damaged: broken };
}

export function sealFault(jobId: string): string {
  return `job ${jobId} does not match its seal`;
}
