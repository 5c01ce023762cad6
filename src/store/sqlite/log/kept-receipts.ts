import { idOfHex, type JobLine } from "../../frames/job-line.ts";
import type { ForgottenJob } from "../../store.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../database/connection.ts";
import type { FrameReader } from "../frames/frame-reader.ts";
import { removeEntries } from "../frames/remove-entries.ts";
import { idBytes, type JobEntry } from "../jobs/job-entry.ts";

export type Kept = {
  job_seq: number;
  id: Uint8Array;
  ended_at: number;
  line_frame: number;
  line_place: number;
  frame: number;
  place: number;
  receipt_frame: number;
  receipt_place: number;
};

/** Keeps where the receipt of a job is that is about to be deleted, with everything needed to vouch for it. Why: ADR 0013, ADR 0075, ADR 0116. */
export function keepReceipt({ sql }: Context, { record, at, lineAt, receiptAt }: JobEntry): void {
  if (receiptAt === null) return;
  sql.run(
    "INSERT INTO kept_receipts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    record.seq,
    idBytes(record.id),
    (lineAt ?? at).frame,
    (lineAt ?? at).place,
    at.frame,
    at.place,
    receiptAt.frame,
    receiptAt.place,
    record.completedAt,
  );
}

type Sources = { sql: Connection; frames: FrameReader };

export function getForgottenJob(sources: Sources, { jobId }: { jobId: string }): ForgottenJob | null {
  const row = sources.sql.first<Kept>(
    "SELECT * FROM kept_receipts WHERE id = ? ORDER BY job_seq DESC LIMIT 1",
    idBytes(jobId),
  );
  if (row === null) return null;
  const { line: _, ...job } = readKept(sources, row);
  return job;
}

/** The receipt in a row, with the line of its job; null if that cannot be read. */
export function readKept(
  { frames }: Pick<Sources, "frames">,
  row: Kept,
): ForgottenJob & { line: JobLine | null } {
  const id = idOfHex(Buffer.from(row.id).toString("hex"));
  const line = frames.line(row.line_frame, row.line_place);
  const document = frames.entry(row.frame, "documents", row.place);
  const receipt = frames.receipt(row.receipt_frame, row.receipt_place);
  const documentSha256 = frames.hash(row.line_frame, "documents", row.line_place);
  const isSealed =
    [line, document, receipt].every(({ state }) => state === "kept") &&
    line.line?.id === id &&
    frames.hash(row.frame, "documents", row.place) === documentSha256;
  const { tenantId = "", userId = "" } = line.line ?? {};
  const texts = { document: document.text, receipt: receipt.text };
  return { id, tenantId, userId, documentSha256, ...texts, isSealed, line: line.line };
}

export function pruneReceipts(
  context: Context,
  { before, limit }: { before: number; limit: number },
): { removed: number } {
  const rows = context.sql.all<Kept>(
    "SELECT * FROM kept_receipts WHERE ended_at < ? ORDER BY ended_at LIMIT ?",
    before,
    limit,
  );
  removeEntries(
    context,
    rows.flatMap((row) => [
      { frame: row.line_frame, place: row.line_place, payload: "jobs" as const },
      { frame: row.frame, place: row.place, payload: "jobs" as const },
      { frame: row.frame, place: row.place, payload: "documents" as const },
      { frame: row.receipt_frame, place: row.receipt_place, payload: "receipts" as const },
    ]),
  );
  for (const { job_seq } of rows) context.sql.run("DELETE FROM kept_receipts WHERE job_seq = ?", job_seq);
  return { removed: rows.length };
}
