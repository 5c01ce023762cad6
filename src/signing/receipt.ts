import { canonicalString } from "./canonical.ts";
import { sha256Hex } from "./mac.ts";

export const emptySha256 = sha256Hex("");

/** What one signature covers for several receipts: the hash of each. Why: ADR 0013, ADR 0075. */
export function receiptListText(workerId: string, hashes: readonly string[]): string {
  const quoted = hashes.map((hash) => canonicalString(hash));
  return `{"receipts":[${quoted.join(",")}],"worker_id":${canonicalString(workerId)}}`;
}
