import type { ClaimedBatch } from "../../contract/shapes/worker-shapes.ts";
import { WritError } from "../../core/errors.ts";
import { isJobId } from "../../core/ids.ts";
import type { ClaimDetail } from "../../core/jobs/failure.ts";
import { isCanonical } from "../../signing/canonical.ts";
import type { VerifyingKey } from "../../signing/ed25519.ts";
import { type Lease, parseLease } from "../../signing/lease.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { leaseOfJob, verifyBatchLease } from "../../signing/verify-batch-lease.ts";
import { type VerifiedClaim, verifyBatch } from "../../signing/verify-claim.ts";
import type { ReceivedBatch } from "../hub/hub-calls.ts";
import type { ReceivedLease } from "../hub/read-leased-batch.ts";

/** Its job token is not covered by the signature: only the hub reads it, and it has a signature of its own. */
export type AcceptedClaim = VerifiedClaim & { jobToken: string | undefined };

/** Why a batch is not authentic. None of its jobs runs. */
export type Refusal = { detail: ClaimDetail; reason: string };

type VerifiedBatch = {
  accepted: AcceptedClaim[];
  /** Set if the batch must be reported as a whole. */
  refusal: Refusal | null;
  /** Leases to release, because only the times do not match. */
  returned: { lease: Lease; reason: string }[];
  /** Claims whose signed id is not one. */
  unreadable: number;
};

type Verifier = {
  trusted: VerifyingKey[];
  workerId: string;
  nowMs: number;
  tally?: { verifications: number };
};
type Job = ClaimedBatch["jobs"][number];

/** Checks a batch before anything in it is trusted. Why: ADR 0006. */
export function verifyClaims(verifier: Verifier, batch: ReceivedBatch): VerifiedBatch {
  const nothing: VerifiedBatch = { accepted: [], refusal: null, returned: [], unreadable: 0 };
  try {
    const verified = hasOneLease(batch)
      ? verifyBatchLease(verifier, batch)
      : verifyBatch({ ...verifier, batch: batch.batch, jobs: batch.jobs });
    // An id becomes part of a path and of an address, so it must be valid even if it is signed.
    const accepted = verified
      .map((claim, index) => ({ ...claim, jobToken: batch.jobs[index]?.job_token }))
      .filter(({ lease }) => isJobId(lease.job_id));
    return { ...nothing, accepted, unreadable: verified.length - accepted.length };
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    const late = error.code === "LEASE_INVALID" ? lateLeases(verifier, batch) : null;
    return late === null ? { ...nothing, refusal: refusalOf(error) } : { ...nothing, returned: late };
  }
}

function refusalOf({ code, message }: WritError): Refusal {
  return { detail: code === "KEY_NOT_TRUSTED" ? code : "INVALID_SIGNATURE", reason: message };
}

/** The leases to release if only the times of the batch are wrong; else null. */
function lateLeases(verifier: Verifier, batch: ReceivedBatch): VerifiedBatch["returned"] | null {
  // The signature of one lease covers its times, so that none of it is forged if only they do not match.
  if (hasOneLease(batch))
    return readableLeases(batch, verifier.workerId).map((lease) => ({
      lease,
      reason: returnReason(verifier, lease),
    }));
  const late: VerifiedBatch["returned"] = [];
  for (const job of batch.jobs) {
    const lease = readableLease(job.lease);
    if (lease === null || isForged(verifier, job, lease)) return null;
    late.push({ lease, reason: returnReason(verifier, lease) });
  }
  return late;
}

/** Whether this job contains data that its signature cannot have covered. A lease that is only late does not. */
function isForged({ workerId }: Verifier, job: Job, lease: Lease): boolean {
  return (
    lease.worker_id !== workerId ||
    lease.document_sha256 !== sha256Hex(job.document) ||
    !isCanonical(job.document) ||
    (JSON.parse(job.document) as { job_id?: unknown } | null)?.job_id !== lease.job_id
  );
}

function returnReason({ nowMs }: Verifier, lease: Lease): string {
  const nowTs = nowMs / 1000;
  if (lease.expires_at_ts < nowTs) {
    const lateSec = Math.round(nowTs - lease.expires_at_ts);
    return `by this worker's clock the lease ended ${lateSec} s ago; compare the clocks of hub and worker`;
  }
  if (lease.issued_at_ts > nowTs) {
    const earlySec = Math.round(lease.issued_at_ts - nowTs);
    return `by this worker's clock the lease begins in ${earlySec} s; compare the clocks of hub and worker`;
  }
  return "another job of the same batch is late";
}

export function hasOneLease(batch: ReceivedBatch): batch is ReceivedLease {
  return "secret" in batch;
}

/** The leases of the jobs whose documents name an id. They are not trusted: they only identify attempts. */
export function readableLeases(batch: ReceivedLease, workerId: string): Lease[] {
  return batch.jobs.flatMap((job) => {
    const jobId = idIn(job.document);
    const documentSha256 = sha256Hex(job.document);
    return jobId === null ? [] : [leaseOfJob(batch, job, { jobId, workerId, documentSha256 })];
  });
}

function idIn(document: string): string | null {
  try {
    const { job_id: id } = (JSON.parse(document) ?? {}) as { job_id?: unknown };
    return typeof id === "string" && isJobId(id) ? id : null;
  } catch {
    // It is not JSON, and so names nothing.
    return null;
  }
}

/** Null if it cannot be read. The result is not trusted: it only identifies the attempt. */
export function readableLease(text: string): Lease | null {
  try {
    const lease = parseLease(text);
    return isJobId(lease.job_id) ? lease : null;
  } catch (error) {
    if (error instanceof WritError) return null;
    throw error;
  }
}
