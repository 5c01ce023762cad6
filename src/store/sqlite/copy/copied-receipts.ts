// Receipts of jobs that are gone, as rows that are copied, and as this driver keeps them. Why: ADR 0086, ADR 0116.
import type { JobRecord } from "../../../core/jobs/job.ts";
import { sealDocument } from "../../../signing/mac.ts";
import type { CopyKey, CopyRow } from "../../database/database-copy.ts";
import { isReceiptSealed, readRouting, readWholeRouting, routingOf } from "../../jobs/job-seal.ts";
import type { Connection } from "../database/connection.ts";
import { idBytes } from "../jobs/job-entry.ts";
import { type Kept, readKept } from "../log/kept-receipts.ts";
import type { ReadContext } from "../reads/read-context.ts";
import { knownHash, knownId, noJob, soundNumber } from "./copied-jobs.ts";
import type { FrameWriter } from "./frame-writer.ts";

type Target = { sql: Connection; macKey: Buffer; frames: FrameWriter };
type Receipt = { jobId: string; document: string; routing: string; mac: Uint8Array; receipt: string };

export function receiptOf(row: CopyRow): Receipt {
  return {
    jobId: row["job_id"] as string,
    document: row["document"] as string,
    routing: row["routing"] as string,
    mac: row["mac"] as Uint8Array,
    receipt: row["receipt"] as string,
  };
}

export function writeReceipts(target: Target, rows: CopyRow[]): void {
  for (const row of rows) {
    writeReceipt(target, row);
    if (target.frames.isFull) target.frames.end();
  }
  target.frames.end();
}

function writeReceipt({ sql, macKey, frames }: Target, row: CopyRow): void {
  const kept = receiptOf(row);
  const endedAt = row["ended_at"] as number;
  const frame = frames.number;
  const line = isReceiptSealed(macKey, kept) ? readWholeRouting(kept.routing) : null;
  const place = frames.addJob(
    {
      ...emptyJob,
      ...(line ?? damagedLine(kept)),
      seq: row["job_seq"] as number,
      createdAt: soundNumber(endedAt),
    },
    kept.document,
  );
  sql.run(
    "INSERT INTO kept_receipts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    row["job_seq"] as number,
    idBytes(knownId(kept.jobId)),
    frame,
    place,
    frame,
    place,
    frame,
    frames.addReceipt(kept.receipt),
    endedAt,
  );
}

/** Of a receipt that no seal vouches for, readers are told what it claims, and that it is not sealed. */
function damagedLine({ routing }: Receipt): Partial<JobRecord> {
  const { tenantId, userId, documentSha256 } = readRouting(routing);
  return {
    tenantId,
    userId,
    documentSha256: knownHash(documentSha256),
  };
}

/** What a kept receipt does not need. */
const emptyJob = {
  id: noJob,
  tenantId: "",
  userId: "",
  type: "",
  priority: 0,
  queueKey: "",
  documentTimeoutSec: 0,
  timeoutSec: 0,
  maxAttempts: 1,
  attemptsChosen: false,
  limitsDefaulted: null,
  documentSha256: "0".repeat(64),
  idempotencyKey: "",
  requestHash: null,
  runAt: 0,
  queueTtlSec: null,
  terms: null,
} as unknown as JobRecord;

export function* readReceipts(context: ReadContext, after: CopyKey | null): Generator<CopyRow> {
  const rows = context.sql
    .statement("SELECT * FROM kept_receipts WHERE job_seq > ? ORDER BY job_seq")
    .iterate(after === null ? 0 : (after[0] as number));
  for (const row of rows as unknown as Iterable<Kept>) yield readReceipt(context, row);
}

function readReceipt(context: ReadContext, row: Kept): CopyRow {
  const kept = readKept(context, row);
  const { document, documentSha256 } = kept;
  const routing = kept.line === null ? "" : routingOf({ ...kept.line, documentSha256 });
  return {
    job_seq: row.job_seq,
    job_id: kept.id,
    document,
    routing,
    // What does not match its frames must not match its seal.
    mac: kept.isSealed ? sealDocument(context.macKey, { document, routing }) : Buffer.alloc(32),
    receipt: kept.receipt,
    ended_at: row.ended_at,
  };
}
