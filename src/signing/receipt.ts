import { canonicalString } from "./canonical.ts";
import { sha256Hex } from "./mac.ts";

export const emptySha256 = sha256Hex("");

/** The SHA-256 of what the hub signed for a claim, and how many receipts that follow each other are of its jobs. */
export type LeaseRun = readonly [leaseSha256: string, receipts: number];

/**
 * What one signature covers for several receipts: the hash of each, and under which leases the attempts were run. Workers of
 * version 0.1 name no leases. Why: ADR 0013, ADR 0075, ADR 0125.
 */
export function receiptListText(
  workerId: string,
  hashes: readonly string[],
  leases?: readonly LeaseRun[],
): string {
  const runs = leases?.map(([sha256, receipts]) => `[${canonicalString(sha256)},${receipts}]`);
  const named = runs === undefined ? "" : `"leases":[${runs.join(",")}],`;
  const quoted = hashes.map((hash) => canonicalString(hash));
  return `{${named}"receipts":[${quoted.join(",")}],"worker_id":${canonicalString(workerId)}}`;
}

/** The receipt of a function that succeeded inside the worker and wrote nothing. */
type FunctionReceipt = {
  job_id: string;
  attempt: number;
  worker_id: string;
  document_sha256: string;
  result_sha256: string;
  started_at: number;
  ended_at: number;
};

/** Writes what `receiptText` writes for it: only these fields differ between two of them. Why: ADR 0125. */
export function functionReceiptText(receipt: FunctionReceipt): string {
  return (
    `{"attempt":${receipt.attempt},"document_sha256":"${receipt.document_sha256}","ended_at":${receipt.ended_at}` +
    `,"exit_code":null,"isolation":{"applied":[],"level":"in-process","missing":[]},"job_id":"${receipt.job_id}"` +
    `,"output_files":[],"result_sha256":"${receipt.result_sha256}","started_at":${receipt.started_at}` +
    `,"stderr_sha256":"${emptySha256}","stdout_sha256":"${emptySha256}","usage":null` +
    `,"worker_id":${canonicalString(receipt.worker_id)}}`
  );
}
