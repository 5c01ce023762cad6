import { WritError } from "../core/errors.ts";
import { type BatchLease, batchLeaseText, type LeaseLine, tokenOfAttempt } from "./batch-lease.ts";
import type { Lease } from "./lease.ts";
import { sha256Hex } from "./mac.ts";
import {
  checkTimes,
  keyThatSigned,
  readDocument,
  type Signature,
  type VerifiedClaim,
  type Verifier,
} from "./verify-claim.ts";

/** A claim as it was received: nothing of it is trusted. */
export type LeasedBatch = {
  lease: Omit<BatchLease, "worker_id">;
  secret: string;
  batch: Signature & { signatures?: Signature[] | undefined };
  jobs: (Omit<LeaseLine, "document_sha256"> & { document: string })[];
};

/**
 * Checks a claim that has one lease. What the signature covers is written again from what was received, so a line, document, time or
 * secret that was changed, left out, moved or meant for another worker makes it another text. Why: ADR 0006, ADR 0125.
 */
export function verifyBatchLease(verifier: Verifier, received: LeasedBatch): VerifiedClaim[] {
  const { lease, secret, batch, jobs } = received;
  const lines = jobs.map(({ document, ...line }) => ({ ...line, document_sha256: sha256Hex(document) }));
  const text = batchLeaseText({ ...lease, worker_id: verifier.workerId }, secret, lines);
  keyThatSigned(verifier, batch, { text, what: "The batch" });
  checkTimes(verifier, lease);
  const signedSha256 = sha256Hex(text);
  return jobs.map((job, index) => {
    const { document, isPlain } = readDocument(job.document);
    const documentSha256 = lines[index]!.document_sha256;
    const held = leaseOfJob(received, job, {
      jobId: idIn(document),
      workerId: verifier.workerId,
      documentSha256,
    });
    return { document, isPlain, documentText: job.document, documentSha256, lease: held, signedSha256 };
  });
}

/** The lease of one job, as the rest of a worker knows it. */
export function leaseOfJob(
  { lease, secret }: LeasedBatch,
  { attempt, limits_defaulted, timeout_sec }: LeasedBatch["jobs"][number],
  { jobId, workerId, documentSha256 }: { jobId: string; workerId: string; documentSha256: string },
): Lease {
  const held: Lease = {
    job_id: jobId,
    attempt,
    worker_id: workerId,
    document_sha256: documentSha256,
    timeout_sec,
    issued_at_ts: lease.issued_at_ts,
    expires_at_ts: lease.expires_at_ts,
    token: tokenOfAttempt(secret, jobId, attempt),
  };
  if (lease.boot_id !== undefined) held.boot_id = lease.boot_id;
  if (limits_defaulted !== undefined) held.limits_defaulted = [...limits_defaulted];
  return held;
}

/** Whether it is a job's id is checked where it is used. */
function idIn(document: VerifiedClaim["document"]): string {
  const id = document["job_id"];
  if (typeof id === "string") return id;
  throw new WritError("INVALID_DOCUMENT", "the signed document is refused: it has no job_id");
}
