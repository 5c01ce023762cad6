import { invalidArgument } from "../../../core/errors.ts";
import { receiptSealKey, sealListedReceipt, sha256Hex } from "../../../signing/mac.ts";
import { type LeaseRun, receiptListText } from "../../../signing/receipt.ts";
import { type FoundReceipt, readStoredReceipt, signatureIdIn } from "../../../store/jobs/read-receipt.ts";
import type { ReceiptSignature } from "../../../store/store.ts";
import type { WorkerRecord } from "../../../store/worker-store.ts";
import type { HubDeps } from "../../deps.ts";

/** A receipt of a call; the text is null if the hub could not write it, because its item is not valid. */
export type SentReceipt = { text: string | null; sha256: string };

/** The signed content of one call: one receipt, or the list of hashes of several. */
export type Signed = {
  /** The stored form: its text is the signed text and, below that, each receipt in a line of its own. */
  kept: Omit<ReceiptSignature, "createdAt">;
  /** The signed text. */
  text: string;
  /** The number of each receipt in the list, by its hash. */
  places: ReadonlyMap<string, number>;
};

type Signer = Pick<WorkerRecord, "id" | "publicKey">;

export function signedReceipt(
  worker: Signer,
  receipt: { text: string; signature: string } | undefined,
): Signed | null {
  if (receipt === undefined) return null;
  const { text, signature } = receipt;
  return signedBy(worker, [{ text, sha256: sha256Hex(text) }], { text, signature });
}

/** What a worker signs for the receipts of one call. */
export type SentList = { signature: string; leases?: LeaseRun[] | undefined };

/**
 * The list is made from the items as they arrived: a refused item is still part of what was signed.
 * Why: ADR 0013, ADR 0075, ADR 0125.
 */
export function signedList(
  worker: Signer,
  receipts: SentReceipt[],
  { signature, leases }: SentList = { signature: "" },
): Signed | null {
  const named = leases?.reduce((sum, [, count]) => sum + count, 0) ?? receipts.length;
  if (named !== receipts.length) {
    const message = `must be of all receipts: they name ${named} and the call has ${receipts.length}`;
    throw invalidArgument({ path: "receipts.leases", message });
  }
  if (receipts.length === 0) return null;
  const hashes = receipts.map(({ sha256 }) => sha256);
  return signedBy(worker, receipts, { text: receiptListText(worker.id, hashes, leases), signature });
}

function signedBy(
  { id: workerId, publicKey }: Signer,
  receipts: SentReceipt[],
  signed: { text: string; signature: string },
): Signed {
  const text = [lineOf(signed.text), ...receipts.map((receipt) => lineOf(receipt.text))].join("\n");
  const kept = { id: sha256Hex(text), text, signature: signed.signature, workerId, publicKey };
  return { kept, text: signed.text, places: new Map(receipts.map(({ sha256 }, index) => [sha256, index])) };
}

/** Canonical texts have no line break. Any other text that a worker has signed is stored in quotes. */
function lineOf(text: string | null): string {
  if (text === null) return "";
  return text.startsWith("{") && !text.includes("\n") ? text : JSON.stringify(text);
}

/**
 * The form of a receipt in its job: its number in the list, the id of the list, and the hub's seal, which proves that
 * this receipt was accepted with its attempt, and under which key of the worker.
 */
export function receiptKeeper({ keys }: Pick<HubDeps, "keys">, signed: Signed): (sha256: string) => string {
  const { kept, places } = signed;
  const sealKey = receiptSealKey(keys.macKey, { signedId: kept.id, publicKey: kept.publicKey ?? "" });
  return (sha256) => `${places.get(sha256)} ${kept.id} ${sealListedReceipt(sealKey, sha256)}`;
}

/** Null if its signature was deleted. */
export async function findReceipt(
  { keys, store }: Pick<HubDeps, "keys" | "store">,
  kept: string,
): Promise<FoundReceipt | null> {
  const row = await store.getReceiptSignature({ id: signatureIdIn(kept) });
  return row && readStoredReceipt(keys.macKey, kept, row);
}
