import { idOfHex } from "../../frames/job-line.ts";
import { JobComparison } from "../../jobs/job-comparison.ts";
import { signatureIdIn } from "../../jobs/read-receipt.ts";
import { isRefused, type SealCall, type SealFindings } from "../../jobs/seal-check.ts";
import { type Context, loadContext } from "../context.ts";
import { Connection } from "../database/connection.ts";
import { checkDocument } from "../jobs/check-document.ts";
import type { JobEntry, RowValues } from "../jobs/job-entry.ts";
import { readEntry, rowList } from "../jobs/read-row.ts";
import { getForgottenJob } from "../log/kept-receipts.ts";
import { getReceiptSignature } from "../log/receipt-signatures.ts";
import { compareEntry } from "./compare-entry.ts";

/** Compares every job with its line and its document, and every kept receipt with the frames that it is in. Why: ADR 0018. */
export function findBrokenSeals(path: string, { macKey, most, isCompared = false }: SealCall): SealFindings {
  const sql = new Connection(path, 5_000, { isReader: true, isOfHub: true });
  const findings: SealFindings = { checked: 0, broken: [], refused: 0, contradicted: [] };
  const look = (id: string, holds: boolean): void => {
    findings.checked++;
    if (!holds && findings.broken.length < most) findings.broken.push(id);
  };
  try {
    sql.script("BEGIN");
    const context = loadContext(sql, macKey);
    const signatures = sql.first<{ oldest: number | null }>(
      "SELECT min(created_at) AS oldest FROM receipt_signatures",
    );
    const comparison = new JobComparison(macKey, { most, oldestSignedAt: signatures?.oldest ?? null });
    for (const entry of allJobs(context)) {
      const holds = checkDocument(context, entry).state === "genuine";
      if (!holds && isRefused(entry.record)) findings.refused++;
      else look(entry.record.id, holds);
      if (isCompared && holds) compare(context, entry, comparison);
    }
    findings.contradicted = comparison.finish();
    for (const { id } of sql.statement("SELECT lower(hex(id)) AS id FROM kept_receipts").iterate()) {
      const jobId = idOfHex(String(id));
      look(jobId, getForgottenJob(context, { jobId })?.isSealed === true);
    }
    return findings;
  } finally {
    sql.close();
  }
}

function compare(context: Context, entry: JobEntry, comparison: JobComparison): void {
  const { record } = entry;
  const { damaged, isReceiptRefused } = compareEntry(context, entry);
  const signature =
    record.receipt === null ? null : getReceiptSignature(context, { id: signatureIdIn(record.receipt) });
  comparison.look(record, { isContradicted: damaged.length > 0, isReceiptRefused, signature });
}

/** Those of the table as they are now, and those whose rows are not yet written. */
function* allJobs(context: Context): Generator<JobEntry> {
  const rows = context.sql.rowStatement(`SELECT ${rowList} FROM jobs ORDER BY seq`).iterate();
  for (const row of rows as unknown as Iterable<RowValues>)
    yield context.jobs.get(row[0] as number) ?? readEntry(context, row).entry;
  for (const entry of context.jobs.dirty()) if (!entry.isStored) yield entry;
}
