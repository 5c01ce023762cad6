import type { ClaimedBatch } from "../contract/worker-shapes.ts";
import { WritError } from "../core/errors.ts";
import type { FailureDetail } from "../core/failure.ts";
import { isJobId } from "../core/ids.ts";
import { isCanonical } from "../signing/canonical.ts";
import type { VerifyingKey } from "../signing/ed25519.ts";
import { type Lease, parseLease } from "../signing/lease.ts";
import { sha256Hex } from "../signing/mac.ts";
import { type VerifiedClaim, verifyBatch } from "../signing/verify-claim.ts";

/** A claim that is not run. Its lease was only parsed, not trusted: it says to whom to report. */
type Refusal = { lease: Lease; detail: FailureDetail; reason: string };

/** Its job token is not covered by the signature: only the hub reads it, and it has a signature of its own. */
export type AcceptedClaim = VerifiedClaim & { jobToken: string | undefined };

type VerifiedBatch = {
  accepted: AcceptedClaim[];
  /** To be reported as violations. */
  refused: Refusal[];
  /** Not run, and nobody is at fault: to be given back. */
  returned: { lease: Lease; reason: string }[];
  /** Claims whose lease cannot even be parsed; there is nobody to report to. */
  unreadable: number;
};

type Verifier = {
  trusted: VerifyingKey[];
  workerId: string;
  nowMs: number;
  tally?: { verifications: number };
};
type Job = ClaimedBatch["jobs"][number];

/** Checks a batch before anything in it is trusted. What does not verify is sorted by whom to tell. */
export function verifyClaims(verifier: Verifier, batch: ClaimedBatch): VerifiedBatch {
  try {
    const verified = verifyBatch({ ...verifier, batch: batch.batch, jobs: batch.jobs });
    // An id becomes part of a path and of an address, so it must be valid even if it is signed.
    const accepted = verified
      .map((claim, index) => ({ ...claim, jobToken: batch.jobs[index]?.job_token }))
      .filter(({ lease }) => isJobId(lease.job_id));
    return { accepted, refused: [], returned: [], unreadable: verified.length - accepted.length };
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    return sortRefused(verifier, batch, error);
  }
}

function sortRefused(verifier: Verifier, batch: ClaimedBatch, error: WritError): VerifiedBatch {
  const sorted: VerifiedBatch = { accepted: [], refused: [], returned: [], unreadable: 0 };
  // A signature covers the whole batch; what is wrong inside one job says nothing about the others.
  const isWholeBatch = error.code === "INVALID_SIGNATURE" || error.code === "KEY_NOT_TRUSTED";
  const detail = error.code === "KEY_NOT_TRUSTED" ? "KEY_NOT_TRUSTED" : "INVALID_SIGNATURE";
  for (const job of batch.jobs) {
    const lease = tryParseLease(job.lease);
    if (lease === null) sorted.unreadable++;
    else if (isWholeBatch || isForged(verifier, job, lease)) {
      sorted.refused.push({ lease, detail, reason: error.message });
    } else sorted.returned.push({ lease, reason: returnReason(verifier, lease) });
  }
  return sorted;
}

/** Whether this job contains something that its signature cannot have covered. A lease that is only late does not. */
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
  return "another job of the same batch did not verify";
}

function tryParseLease(text: string): Lease | null {
  try {
    const lease = parseLease(text);
    return isJobId(lease.job_id) ? lease : null;
  } catch (error) {
    if (error instanceof WritError) return null;
    throw error;
  }
}
