import { WritError } from "../core/errors.ts";
import { canonicalString } from "./canonical.ts";
import { sha256Hex } from "./mac.ts";

/** The short-lived right of one worker to run one attempt of one job. Why: ADR 0006, ADR 0033. */
export type Lease = {
  job_id: string;
  attempt: number;
  worker_id: string;
  document_sha256: string;
  timeout_sec: number;
  issued_at_ts: number;
  expires_at_ts: number;
  token: string;
  /** The worker's process that claimed it. Only this one may run it. */
  boot_id?: string;
  /** The limits in the document that are only the hub's defaults. */
  limits_defaulted?: string[];
};

/** Written by hand because it is made for every claim; the fields are in canonical order. */
export function leaseText(lease: Lease): string {
  checkFields(lease);
  const { boot_id: bootId, limits_defaulted: limits } = lease;
  return (
    `{"attempt":${lease.attempt}${bootId === undefined ? "" : `,"boot_id":${canonicalString(bootId)}`}` +
    `,"document_sha256":"${lease.document_sha256}"` +
    `,"expires_at_ts":${lease.expires_at_ts},"issued_at_ts":${lease.issued_at_ts}` +
    `,"job_id":${canonicalString(lease.job_id)}` +
    `${limits === undefined ? "" : `,"limits_defaulted":[${limits.map(canonicalString).join(",")}]`}` +
    `,"timeout_sec":${lease.timeout_sec}` +
    `,"token":${canonicalString(lease.token)},"worker_id":${canonicalString(lease.worker_id)}}`
  );
}

/**
 * Reads exactly what `leaseText` writes, and no other spelling. If serialising the result gives the same bytes, the
 * text cannot have contained another field, a duplicate key or another spelling of a number, so the plain parser is
 * strict enough.
 */
export function parseLease(text: string): Lease {
  const lease = readObject(text);
  if (leaseText(lease) !== text) throw invalid("it is not exactly the canonical form of a lease");
  return lease;
}

/** What one signature covers for a whole batch: the hash of every document with the hash of its lease. */
export function batchText(batch: {
  workerId: string;
  jobs: { documentSha256: string; leaseText: string }[];
}): string {
  const pairs = batch.jobs.map(
    (job) => `[${canonicalString(job.documentSha256)},"${sha256Hex(job.leaseText)}"]`,
  );
  return `{"jobs":[${pairs.join(",")}],"worker_id":${canonicalString(batch.workerId)}}`;
}

function readObject(text: string): Lease {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("it is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid("it is not a JSON object");
  }
  return value as Lease;
}

function checkFields(lease: Lease): void {
  checkName("job_id", lease.job_id);
  checkName("worker_id", lease.worker_id);
  checkName("token", lease.token);
  checkInteger("attempt", lease.attempt, 1);
  checkInteger("timeout_sec", lease.timeout_sec, 0);
  checkInteger("issued_at_ts", lease.issued_at_ts, 0);
  checkInteger("expires_at_ts", lease.expires_at_ts, lease.issued_at_ts);
  if (typeof lease.document_sha256 !== "string" || !/^[0-9a-f]{64}$/.test(lease.document_sha256)) {
    throw invalid("document_sha256 must be 64 lower-case hex digits");
  }
  if (lease.boot_id !== undefined) checkName("boot_id", lease.boot_id);
  if (lease.limits_defaulted !== undefined) checkNames("limits_defaulted", lease.limits_defaulted);
}

function checkName(field: string, value: unknown): void {
  if (typeof value !== "string" || value === "" || !value.isWellFormed())
    throw invalid(`${field} must be a non-empty string`);
}

function checkNames(field: string, value: unknown): void {
  if (!Array.isArray(value) || value.length === 0) throw invalid(`${field} must be a list of names`);
  for (const name of value) checkName(field, name);
}

function checkInteger(field: string, value: unknown, least: number): void {
  // A template string would write -0 as 0, which the canonical form refuses.
  if (!Number.isSafeInteger(value) || (value as number) < least || Object.is(value, -0)) {
    throw invalid(`${field} must be an integer of at least ${least}`);
  }
}

function invalid(reason: string): WritError {
  return new WritError("LEASE_INVALID", `the lease is refused: ${reason}`);
}
