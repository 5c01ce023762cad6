import { idBytes } from "../../src/store/sqlite/jobs/job-entry.ts";
import { editRows, readRows, readStatuses, tamperWith } from "./database.ts";
import { framedReceipt, withWrittenRows, writeRowsOf } from "./sqlite-database.ts";

// What tests do to the rows of a file of SQLite behind the hub's back.

/** All jobs that have ended did so this much earlier. */
export function endEarlier(home: string, byMs: number): void {
  editJobs(home, "completed_at = completed_at - ? WHERE completed_at IS NOT NULL", byMs);
}

/** As if the hub had been killed before it noted how much a job has written. */
export function forgetSizes(home: string, jobId: string): void {
  editRows(
    home,
    "DELETE FROM job_outputs WHERE job_seq = (SELECT seq FROM jobs WHERE id = ?)",
    idBytes(jobId)!,
  );
}

/** Every document that runs `true` runs something else. */
export async function forgeDocuments(home: string): Promise<void> {
  const tamper = tamperWith(home);
  const edits = [...readStatuses(home).keys()].map((id) => tamper.editInDocument(id, "true", "evil"));
  const results = await Promise.allSettled(edits);
  if (results.every(({ status }) => status === "rejected")) throw new Error("no document runs true");
}

/** Changes the list of files that a job has left. */
export function editOutputFiles(home: string, jobId: string, [from, to]: [string, string]): void {
  editJobs(home, "output_files = replace(output_files, ?, ?) WHERE id = ?", from, to, jobId);
}

/** Which key signed the lease that a job has. */
export function readLeaseKey(home: string, jobId: string): string | null {
  const text = "SELECT name FROM jobs JOIN names ON names.number = lease_key WHERE id = ?";
  return withWrittenRows(home, (sql) => sql.first<{ name: string }>(text, idBytes(jobId)!))?.name ?? null;
}

/** The receipt of a job then names another place in the list that was signed. */
export function moveReceipt(home: string, jobId: string): void {
  editJobs(
    home,
    `(receipt_frame, receipt_place) = (SELECT receipt_frame, receipt_place FROM jobs
      WHERE receipt_frame IS NOT NULL AND id <> ?1 LIMIT 1) WHERE id = ?1`,
    jobId,
  );
}

/** Edits the list of receipts that the receipt of a job is in. */
export function editSignature(home: string, jobId: string, assignment: string): void {
  const id = String(framedReceipt(home, jobId)).slice(2, 66);
  editRows(home, `UPDATE receipt_signatures SET ${assignment} WHERE id = ?`, id);
}

/** Edits a record of the audit trail; the answer puts it back. */
export async function editRecord(home: string, seq: number): Promise<() => void> {
  const place = "8 * (SELECT number FROM frames WHERE ? BETWEEN first_event AND last_event) + 4";
  const bytes = readRows(home, `SELECT bytes FROM payloads WHERE place = ${place}`, seq)[0]!["bytes"];
  await tamperWith(home).editEvent(seq, '{"forged":true}');
  return () =>
    void editRows(home, `UPDATE payloads SET bytes = ? WHERE place = ${place}`, bytes as Uint8Array, seq);
}

/** Files a genuine document and its seal under a job that it is not for. */
export function keepReceiptAs(home: string, jobId: string): void {
  editRows(
    home,
    `INSERT INTO kept_receipts (job_seq, id, line_frame, line_place, frame, place, receipt_frame, receipt_place, ended_at)
      SELECT seq, ?, frame, place, frame, place, coalesce(receipt_frame, frame), coalesce(receipt_place, place), 1
        FROM jobs LIMIT 1`,
    idBytes(jobId)!,
  );
}

/** An id is its bytes in a row, and rows are written a moment later. */
function editJobs(home: string, assignments: string, ...values: (string | number)[]): void {
  writeRowsOf(home);
  const asStored = (value: string | number) =>
    typeof value === "string" ? (idBytes(value) ?? value) : value;
  editRows(home, `UPDATE jobs SET ${assignments}`, ...values.map(asStored));
}
