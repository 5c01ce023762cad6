// Signatures over lists of receipts, kept with the texts of the receipts. Why: ADR 0075.
import type { ReceiptSignature } from "../../store.ts";
import type { ColdContext } from "../context.ts";
import type { ReadContext } from "../reads/read-context.ts";

/** Storing the same signature again changes nothing. */
export function saveReceiptSignature(context: ColdContext, signed: ReceiptSignature): void {
  context.sql.run(
    `INSERT INTO receipt_signatures (id, text, signature, worker_id, public_key, created_at)
      VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    signed.id,
    signed.text,
    signed.signature,
    signed.workerId,
    signed.publicKey,
    signed.createdAt,
  );
}

export function getReceiptSignature(
  context: Pick<ReadContext, "sql">,
  { id }: { id: string },
): ReceiptSignature | null {
  return context.sql.first<ReceiptSignature>(
    `SELECT id, text, signature, worker_id AS workerId, public_key AS publicKey, created_at AS createdAt
      FROM receipt_signatures WHERE id = ?`,
    id,
  );
}

export function pruneReceiptSignatures(
  context: ColdContext,
  { before, limit }: { before: number; limit: number },
): { removed: number } {
  const removed = context.sql.run(
    `DELETE FROM receipt_signatures
      WHERE id IN (SELECT id FROM receipt_signatures WHERE created_at < ? ORDER BY created_at LIMIT ?)`,
    before,
    limit,
  );
  return { removed };
}
