import { receiptSealKey, sealListedReceipt, sealReceipt, sha256Hex } from "../../signing/mac.ts";
import type { ReceiptSignature } from "../store.ts";

/** A stored receipt with its signature and key. */
export type FoundReceipt = {
  text: string;
  publicKey: string | null;
  signed: string;
  signature: string;
  isSealed: boolean;
};

/** A receipt in the form of earlier versions: stored whole with the job. */
type WholeReceipt = { text: string; signed: string; public_key: string | null; mac: string };

/** Under which id the signature is stored that covers a receipt, as its job has it. */
export function signatureIdIn(kept: string): string {
  return kept.startsWith("{") ? (JSON.parse(kept) as WholeReceipt).signed : (kept.split(" ")[1] ?? "");
}

/** The receipt that a job names, in the row with its signature. Its seal proves that it was accepted with its attempt. */
export function readStoredReceipt(macKey: Buffer, kept: string, row: ReceiptSignature): FoundReceipt {
  if (kept.startsWith("{")) return readWholeReceipt(macKey, JSON.parse(kept) as WholeReceipt, row);
  const [place, id = "", mac] = kept.split(" ");
  const { publicKey, signature } = row;
  const [signed = "", ...lines] = row.text.split("\n");
  const text = textIn(lines[Number(place)] ?? "");
  const sealKey = receiptSealKey(macKey, { signedId: id, publicKey: publicKey ?? "" });
  const isSealed = sealListedReceipt(sealKey, sha256Hex(text)) === mac;
  return { text, publicKey, signed: textIn(signed), signature, isSealed };
}

function readWholeReceipt(
  macKey: Buffer,
  { text, signed: signedId, public_key: publicKey, mac }: WholeReceipt,
  row: ReceiptSignature,
): FoundReceipt {
  const seal = sealReceipt(macKey, { text, signedId, publicKey: publicKey ?? "" });
  return { text, publicKey, signed: row.text, signature: row.signature, isSealed: seal === mac };
}

function textIn(line: string): string {
  return line.startsWith('"') ? (JSON.parse(line) as string) : line;
}
