import { type SigningKey, signText } from "../../../signing/ed25519.ts";
import { batchText, type Lease, leaseText } from "../../../signing/lease.ts";
import type { ClaimedJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import type { LeasedJobs } from "./claim-jobs.ts";
import { jobTokenFor } from "./issue-job-token.ts";

type Signature = { key_id: string; signature: string };

type SignedClaim = Signature & {
  document: string;
  lease: string;
  lease_signature: string;
  job_token?: string;
  signatures?: (Signature & { lease_signature: string })[];
};

type SignedBatch = {
  jobs: { id: string; document: string; lease: string; job_token?: string }[];
  batch: Signature & { signatures?: Signature[] };
};

/** A claimed job with its lease. */
export type LeasedJob = ClaimedJob & { lease: Lease };

type Deps = Pick<HubDeps, "keys" | "metrics" | "clock">;

/** Signs one claimed job: the document and its lease each, during a rotation with each key. Why: ADR 0006, ADR 0010. */
export function signClaim(deps: Deps, claimed: LeasedJob): SignedClaim {
  const lease = leaseText(claimed.lease);
  const [first, ...others] = signersOf(deps, claimed).map((key) => ({
    key_id: key.keyId,
    signature: sign(deps, key, claimed.document),
    lease_signature: sign(deps, key, lease),
  }));
  const all = others.length === 0 ? {} : { signatures: [first!, ...others] };
  return { document: claimed.document, lease, ...first!, ...all, ...tokenOf(deps, claimed) };
}

/** Signs several claimed jobs with one signature, over the hashes of all documents and leases. */
export function signBatch(
  deps: Deps,
  workerId: string,
  { jobs: given, claimant }: Pick<LeasedJobs, "jobs" | "claimant">,
): SignedBatch {
  const claimed = given.map((one) => ({ ...one, lease: leaseOf(one, claimant) }));
  const jobs = claimed.map((one) => ({
    id: one.job.id,
    document: one.document,
    lease: leaseText(one.lease),
    ...tokenOf(deps, one),
  }));
  const text = batchText({
    workerId,
    jobs: jobs.map(({ lease }, index) => ({
      documentSha256: claimed[index]!.job.documentSha256,
      leaseText: lease,
    })),
  });
  const [first, ...others] = signersOf(deps, claimed[0]!).map((key) => ({
    key_id: key.keyId,
    signature: sign(deps, key, text),
  }));
  const all = others.length === 0 ? {} : { signatures: [first!, ...others] };
  return { jobs, batch: { ...first!, ...all } };
}

/** Not covered by the batch's signature: only the hub checks it, and it has a signature of its own. */
export function tokenOf(deps: Deps, claimed: ClaimedJob): { job_token?: string } {
  const issued = jobTokenFor(deps, claimed);
  return issued === null ? {} : { job_token: issued.token };
}

/** The key recorded for the lease comes first: it is the newest that this worker trusts. */
export function signersOf({ keys, clock }: Deps, { job }: ClaimedJob): SigningKey[] {
  const signers = keys.signers(clock.nowMs());
  const first = signers.find(({ keyId }) => keyId === job.leaseKeyId) ?? signers[0]!;
  return [first, ...signers.filter((key) => key !== first)];
}

export function sign({ metrics }: Deps, key: SigningKey, text: string): string {
  metrics.signatures.inc();
  return signText(key, text);
}

/** From this document format on, leases have more fields. Older workers would refuse such a lease. */
const newerLeaseFormat = 2;

/** The lease of a claimed job, with the fields that the worker's version can read. */
export function leaseOf(
  { job, leaseToken }: ClaimedJob,
  claimant: { documentFormat: number; bootId: string | undefined },
): Lease {
  const { limitsDefaulted } = job;
  const newer =
    claimant.documentFormat < newerLeaseFormat
      ? {}
      : {
          ...(claimant.bootId === undefined ? {} : { boot_id: claimant.bootId }),
          ...(limitsDefaulted === null ? {} : { limits_defaulted: limitsDefaulted.split(",") }),
        };
  return {
    job_id: job.id,
    attempt: job.attempt,
    worker_id: job.workerId!,
    document_sha256: job.documentSha256,
    timeout_sec: job.timeoutSec,
    issued_at_ts: Math.floor(job.claimedAt! / 1000),
    expires_at_ts: Math.ceil(job.leaseExpiresAt! / 1000),
    token: leaseToken,
    ...newer,
  };
}
