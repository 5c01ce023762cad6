import { lineColumns } from "../../frames/job-line.ts";
import type { Connection } from "../../sqlite/database/connection.ts";
import type { ForgottenJob } from "../../store.ts";
import type { Context } from "../context.ts";
import type { FrameReader } from "../frames/frame-reader.ts";
import { removeEntries } from "../frames/remove-entries.ts";
import { idBytes, type JobEntry } from "../jobs/job-entry.ts";

type Kept = {
  job_seq: number;
  line_frame: number;
  line_place: number;
  frame: number;
  place: number;
  receipt_frame: number;
  receipt_place: number;
};

/** Keeps where the receipt of a job is that is about to be deleted, with everything needed to vouch for it. */
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

export function getForgottenJob({ sql, frames }: Sources, { jobId }: { jobId: string }): ForgottenJob | null {
  const row = sql.first<Kept>(
    "SELECT * FROM kept_receipts WHERE id = ? ORDER BY job_seq DESC LIMIT 1",
    idBytes(jobId),
  );
  if (row === null) return null;
  const line = frames.entry(row.line_frame, "jobs", row.line_place);
  const document = frames.entry(row.frame, "documents", row.place);
  const receipt = frames.entry(row.receipt_frame, "receipts", row.receipt_place);
  const lined = readLine(line.text);
  const entries = [line, document, receipt];
  const isSealed =
    entries.every(({ state }) => state === "kept") &&
    lined.id === jobId &&
    frames.hash(row.frame, "documents", row.place) === lined.documentSha256;
  return { ...lined, id: jobId, document: document.text, receipt: receipt.text, isSealed };
}

type Lined = Pick<ForgottenJob, "id" | "tenantId" | "userId" | "documentSha256">;

function readLine(line: string): Lined {
  let values: unknown[] = [];
  try {
    values = JSON.parse(line);
  } catch {
    // Nothing of it can be told.
  }
  const text = (column: (typeof lineColumns)[number]): string =>
    String(values[lineColumns.indexOf(column)] ?? "");
  return {
    id: text("id"),
    tenantId: text("tenantId"),
    userId: text("userId"),
    documentSha256: text("documentSha256"),
  };
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
