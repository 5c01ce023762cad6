import { sealReceipt, sha256Hex } from "../../../signing/mac.ts";
import { receiptListText } from "../../../signing/receipt.ts";
import type { ReceiptSignature } from "../../../store/store.ts";
import type { WorkerRecord } from "../../../store/worker-store.ts";
import type { HubDeps } from "../../deps.ts";

/** What a worker signed in one call: one receipt, or the list of hashes of several. */
export type Signed = Omit<ReceiptSignature, "createdAt">;

/** A receipt as the job stores it: its signature, the key, and the hub's own seal. */
export type KeptReceipt = { text: string; signed: string; public_key: string | null; mac: string };

export function signedReceipt(
  worker: WorkerRecord,
  receipt: { text: string; signature: string } | undefined,
): Signed | null {
  return receipt === undefined ? null : signedBy(worker, receipt.text, receipt.signature);
}

/** The list is made from the items as they arrived: a refused item is still part of what was signed. */
export function signedList(
  worker: WorkerRecord,
  { items, receiptSignature = "" }: { items: unknown[]; receiptSignature?: string },
): Signed | null {
  const texts = items.map(receiptIn).filter((text) => text !== null);
  return texts.length === 0 ? null : signedBy(worker, receiptListText(worker.id, texts), receiptSignature);
}

function receiptIn(item: unknown): string | null {
  const receipt = typeof item === "object" && item !== null && "receipt" in item ? item.receipt : null;
  return typeof receipt === "string" ? receipt : null;
}

function signedBy({ id: workerId, publicKey }: WorkerRecord, text: string, signature: string): Signed {
  return { id: sha256Hex(text), text, signature, workerId, publicKey };
}

/** The seal says that this receipt was accepted with its attempt, and under which key of the worker. */
export function keptReceipt(
  deps: Pick<HubDeps, "keys">,
  signed: Signed | null,
  text = signed?.text,
): string | null {
  if (signed === null || text === undefined) return null;
  const { id, publicKey } = signed;
  const kept: KeptReceipt = { text, signed: id, public_key: publicKey, mac: "" };
  return JSON.stringify({ ...kept, mac: sealOf(deps, kept) });
}

export function sealOf({ keys }: Pick<HubDeps, "keys">, kept: Omit<KeptReceipt, "mac">): string {
  return sealReceipt(keys.macKey, {
    text: kept.text,
    signedId: kept.signed,
    publicKey: kept.public_key ?? "",
  });
}
