import { idBytes } from "../../src/store/framed/jobs/job-entry.ts";
import { editRows, isFramed, readRows, readStatuses, tamperWith } from "./database.ts";
import { framedReceipt, withWrittenRows, writeRowsOf } from "./framed-database.ts";

// What tests do to the rows of a file of SQLite, of either form, behind the hub's back.

/** All jobs that have ended did so this much earlier. */
export function endEarlier(home: string, byMs: number): void {
  editJobs(home, "completed_at = completed_at - ? WHERE completed_at IS NOT NULL", byMs);
}

/** As if the hub had been killed before it noted how much a job has written. */
export function forgetSizes(home: string, jobId: string): void {
  if (!isFramed(home)) editJobs(home, "output_bytes = 0, output_sizes = NULL WHERE id = ?", jobId);
  else
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
  const key = isFramed(home)
    ? withWrittenRows(home, (sql) =>
        sql.first<{ name: string }>(
          "SELECT name FROM jobs JOIN names ON names.number = lease_key WHERE id = ?",
          idBytes(jobId)!,
        ),
      )
    : readRows(home, "SELECT lease_key_id AS name FROM jobs WHERE id = ?", jobId)[0];
  return (key?.["name"] as string | null | undefined) ?? null;
}

/** The receipt of a job then names another place in the list that was signed. */
export function moveReceipt(home: string, jobId: string): void {
  if (!isFramed(home)) editJobs(home, "receipt = '7' || substr(receipt, 2) WHERE id = ?", jobId);
  else
    editJobs(
      home,
      `(receipt_frame, receipt_place) = (SELECT receipt_frame, receipt_place FROM jobs
        WHERE receipt_frame IS NOT NULL AND id <> ?1 LIMIT 1) WHERE id = ?1`,
      jobId,
    );
}

/** Edits the list of receipts that the receipt of a job is in. */
export function editSignature(home: string, jobId: string, assignment: string): void {
  const receipt = isFramed(home)
    ? framedReceipt(home, jobId)
    : readRows(home, "SELECT receipt FROM jobs WHERE id = ?", jobId)[0]!["receipt"];
  const id = String(receipt).slice(2, 66);
  editRows(home, `UPDATE receipt_signatures SET ${assignment} WHERE id = ?`, id);
}

/** Edits a record of the audit trail; the answer puts it back. */
export async function editRecord(home: string, seq: number): Promise<() => void> {
  if (!isFramed(home)) {
    editRows(home, "UPDATE events SET ts = ts + 1 WHERE seq = ?", seq);
    return () => void editRows(home, "UPDATE events SET ts = ts - 1 WHERE seq = ?", seq);
  }
  const place = "8 * (SELECT number FROM frames WHERE ? BETWEEN first_event AND last_event) + 4";
  const bytes = readRows(home, `SELECT bytes FROM payloads WHERE place = ${place}`, seq)[0]!["bytes"];
  await tamperWith(home).editEvent(seq, '{"forged":true}');
  return () =>
    void editRows(home, `UPDATE payloads SET bytes = ? WHERE place = ${place}`, bytes as Uint8Array, seq);
}

/** Files a genuine document and its seal under a job that it is not for. */
export function keepReceiptAs(home: string, jobId: string): void {
  if (isFramed(home))
    editRows(
      home,
      `INSERT INTO kept_receipts (job_seq, id, line_frame, line_place, frame, place, receipt_frame, receipt_place, ended_at)
        SELECT seq, ?, frame, place, frame, place, coalesce(receipt_frame, frame), coalesce(receipt_place, place), 1
          FROM jobs LIMIT 1`,
      idBytes(jobId)!,
    );
  else
    editRows(
      home,
      `INSERT INTO receipts (job_seq, job_id, document, routing, mac, receipt, ended_at)
        SELECT jobs.seq, ?, document, json_array(jobs.id, jobs.tenant_id, user_id,
          jobs.type, priority, queues.key, document_timeout_sec, max_attempts, document_sha256, idempotency_key), mac, '{}', 1
        FROM jobs JOIN documents ON job_seq = jobs.seq JOIN queues ON queues.id = queue_id LIMIT 1`,
      jobId,
    );
}

/** Columns that rows of both forms have. In group frames an id is its bytes, and rows are written a moment later. */
function editJobs(home: string, assignments: string, ...values: (string | number)[]): void {
  const isOfFrames = isFramed(home);
  if (isOfFrames) writeRowsOf(home);
  const asStored = (value: string | number) =>
    isOfFrames && typeof value === "string" ? (idBytes(value) ?? value) : value;
  editRows(home, `UPDATE jobs SET ${assignments}`, ...values.map(asStored));
}
