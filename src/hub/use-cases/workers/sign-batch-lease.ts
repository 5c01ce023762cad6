import { JsonText } from "../../../contract/routes/build-request.ts";
import { type BatchLease, batchLeaseText, type LeaseLine } from "../../../signing/batch-lease.ts";
import type { ClaimedJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import type { LeasedJobs } from "./claim-jobs.ts";
import { sign, signersOf, tokenOf } from "./sign-claim.ts";

/**
 * The answer to a claim with one lease for all its jobs. Documents are in it as the values that they are, byte for byte as they were
 * signed, so that neither side quotes them; `lengths` says how long each is. Why: ADR 0125.
 */
export function signBatchLease(
  deps: Pick<HubDeps, "keys" | "metrics" | "clock">,
  workerId: string,
  { jobs, secret, claimant }: LeasedJobs,
): JsonText {
  const times = timesOf(jobs);
  const lease: BatchLease = { boot_id: claimant.bootId, ...times, worker_id: workerId };
  const lines = jobs.map(lineOf);
  const text = batchLeaseText(lease, secret, lines);
  const [first, ...others] = signersOf(deps, jobs[0]!).map((key) => ({
    key_id: key.keyId,
    signature: sign(deps, key, text),
  }));
  const batch = { ...first!, ...(others.length === 0 ? {} : { signatures: [first!, ...others] }) };
  const { worker_id: _, ...shown } = lease;
  const lengths = jobs.map(({ document }) => document.length);
  const head = JSON.stringify({ lease: shown, secret, batch, lengths });
  const rows = jobs.map((job, index) => rowOf(lines[index]!, tokenOf(deps, job).job_token, job.document));
  return new JsonText(`${head.slice(0, -1)},"jobs":[${rows.join(",")}]}`);
}

/** Jobs of one claim may have been leased at two moments: the lease is as long as the shortest of theirs. */
function timesOf(jobs: readonly ClaimedJob[]): Pick<BatchLease, "issued_at_ts" | "expires_at_ts"> {
  let [issued, expires] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const { job } of jobs) {
    issued = Math.min(issued, job.claimedAt!);
    expires = Math.min(expires, job.leaseExpiresAt!);
  }
  return { issued_at_ts: Math.floor(issued / 1000), expires_at_ts: Math.ceil(expires / 1000) };
}

function lineOf({ job }: ClaimedJob): LeaseLine {
  const { attempt, documentSha256: document_sha256, limitsDefaulted, timeoutSec: timeout_sec } = job;
  return { attempt, document_sha256, limits_defaulted: limitsDefaulted?.split(","), timeout_sec };
}

function rowOf(line: LeaseLine, jobToken: string | undefined, document: string): string {
  const limits = line.limits_defaulted === undefined ? "null" : JSON.stringify(line.limits_defaulted);
  const token = jobToken === undefined ? "null" : JSON.stringify(jobToken);
  return `[${line.attempt},${line.timeout_sec},${limits},${token},${document}]`;
}
