import { signText } from "../../signing/ed25519.ts";
import { batchText, type Lease, leaseText } from "../../signing/lease.ts";
import type { ClaimedJob } from "../../store/store.ts";
import type { HubDeps } from "../deps.ts";

export type SignedClaim = {
  document: string;
  signature: string;
  key_id: string;
  lease: string;
  lease_signature: string;
};

export type SignedBatch = {
  jobs: { id: string; document: string; lease: string }[];
  batch: { key_id: string; signature: string };
};

/** One claimed job: the document and its lease each carry a signature. */
export function signClaim(deps: Pick<HubDeps, "keys" | "metrics">, claimed: ClaimedJob): SignedClaim {
  const lease = leaseText(leaseOf(claimed));
  const { signing } = deps.keys;
  deps.metrics.signatures.inc(2);
  return {
    document: claimed.document,
    signature: signText(signing, claimed.document),
    key_id: signing.keyId,
    lease,
    lease_signature: signText(signing, lease),
  };
}

/** Many claimed jobs under one signature, over the hashes of all documents and leases. */
export function signBatch(
  deps: Pick<HubDeps, "keys" | "metrics">,
  workerId: string,
  claimed: ClaimedJob[],
): SignedBatch {
  const jobs = claimed.map((one) => ({
    id: one.job.id,
    document: one.document,
    lease: leaseText(leaseOf(one)),
  }));
  const signed = batchText({
    workerId,
    jobs: jobs.map(({ lease }, index) => ({
      documentSha256: claimed[index]!.job.documentSha256,
      leaseText: lease,
    })),
  });
  deps.metrics.signatures.inc();
  return { jobs, batch: { key_id: deps.keys.signing.keyId, signature: signText(deps.keys.signing, signed) } };
}

export function leaseOf({ job, leaseToken }: ClaimedJob): Lease {
  return {
    job_id: job.id,
    attempt: job.attempt,
    worker_id: job.workerId!,
    document_sha256: job.documentSha256,
    timeout_sec: job.timeoutSec,
    issued_at_ts: Math.floor(job.claimedAt! / 1000),
    expires_at_ts: Math.ceil(job.leaseExpiresAt! / 1000),
    token: leaseToken,
  };
}
