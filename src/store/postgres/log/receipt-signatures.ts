// Signatures over lists of receipts, kept with the texts of the receipts. Why: ADR 0075.
import type { ReceiptSignature } from "../../store.ts";
import type { Connection } from "../connection/connection.ts";
import type { Transaction } from "../transaction/transaction.ts";

/** Storing the same signature again changes nothing. */
export function saveReceiptSignature(tx: Transaction, signed: ReceiptSignature): void {
  tx.send(
    `INSERT INTO receipt_signatures (id, text, signature, worker_id, public_key, created_at)
      VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
    signed.id,
    signed.text,
    signed.signature,
    signed.workerId,
    signed.publicKey,
    signed.createdAt,
  );
}

export function getReceiptSignature(
  sql: Connection,
  { id }: { id: string },
): Promise<ReceiptSignature | null> {
  return sql.first<ReceiptSignature>(
    `SELECT id, text, signature, worker_id AS "workerId", public_key AS "publicKey", created_at AS "createdAt"
      FROM receipt_signatures WHERE id = $1`,
    id,
  );
}

export async function pruneReceiptSignatures(
  tx: Transaction,
  { before, limit }: { before: number; limit: number },
): Promise<{ removed: number }> {
  const removed = await tx.sql.run(
    `DELETE FROM receipt_signatures
      WHERE id IN (SELECT id FROM receipt_signatures WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
    before,
    limit,
  );
  return { removed };
}
