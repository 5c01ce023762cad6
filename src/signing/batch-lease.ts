import { hash } from "node:crypto";
import { canonicalString } from "./canonical.ts";
import { sha256Hex } from "./mac.ts";

/** What all jobs of a claim have in common: one worker may run the jobs of these lines until then. Why: ADR 0125. */
export type BatchLease = {
  boot_id?: string | undefined;
  issued_at_ts: number;
  expires_at_ts: number;
  worker_id: string;
};

/** What a lease says about one job. The id is in the document. */
export type LeaseLine = {
  attempt: number;
  document_sha256: string;
  limits_defaulted?: readonly string[] | undefined;
  timeout_sec: number;
};

/**
 * What the hub signs for a claim, in canonical form: neither ids nor tokens, but the hash of each line, and that of the secret
 * from which the tokens follow.
 */
export function batchLeaseText(lease: BatchLease, secret: string, lines: readonly LeaseLine[]): string {
  const { boot_id: bootId } = lease;
  const hashes = lines.map((line) => `"${sha256Hex(lineText(line))}"`);
  return (
    `{${bootId === undefined ? "" : `"boot_id":${canonicalString(bootId)},`}"expires_at_ts":${lease.expires_at_ts}` +
    `,"issued_at_ts":${lease.issued_at_ts},"lines":[${hashes.join(",")}]` +
    `,"secret_sha256":"${sha256Hex(secret)}","worker_id":${canonicalString(lease.worker_id)}}`
  );
}

/** The signed line of one job, in canonical form. */
export function lineText({ attempt, document_sha256, limits_defaulted, timeout_sec }: LeaseLine): string {
  const limits =
    limits_defaulted === undefined
      ? ""
      : `,"limits_defaulted":[${limits_defaulted.map(canonicalString).join(",")}]`;
  return `{"attempt":${attempt},"document_sha256":"${document_sha256}"${limits},"timeout_sec":${timeout_sec}}`;
}

/**
 * The token of one attempt: who has it may speak for this attempt and for no other. All secrets and all ids have the same length, so
 * that no two attempts have the same text.
 */
export function tokenOfAttempt(secret: string, jobId: string, attempt: number): string {
  return hash("sha256", `${secret}${jobId}${attempt}`, "base64url");
}
