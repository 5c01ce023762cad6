import { canonicalString } from "./canonical.ts";
import { sha256Hex } from "./mac.ts";

export const emptySha256 = sha256Hex("");

/** What one signature covers for several receipts: the hash of each. */
export function receiptListText(workerId: string, texts: readonly string[]): string {
  const hashes = texts.map((text) => `"${sha256Hex(text)}"`);
  return `{"receipts":[${hashes.join(",")}],"worker_id":${canonicalString(workerId)}}`;
}
