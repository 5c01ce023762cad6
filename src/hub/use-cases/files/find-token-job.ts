import type { JobDocument } from "../../../contract/document.ts";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { decideChange, type Fence } from "../../../core/jobs/change.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import { type StorageRight, storagePolicyOf } from "../../../core/storage-policy.ts";
import type { JobToken } from "../../../signing/job-token.ts";
import { lockdownError } from "../../../store/response-store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { brokenSeal } from "../access/broken-seal.ts";
import { jobOrThrow } from "../access/job-or-throw.ts";
import { unknownJob } from "../access/unknown-job.ts";
import { findJob } from "../jobs/find-job.ts";

/** `jobToken` is null for an administrator, who acts for the current attempt. */
export type TokenCall = { identity: Identity; origin: Origin; jobId: string; jobToken: JobToken | null };

export type TokenJob = { job: JobRecord; document: JobDocument; policy: StorageRight[]; fence: Fence };

/**
 * The job of a token, if its attempt holds the lease now; with `orCompleted`, the attempt that completed the job is
 * accepted too. Why: ADR 0092.
 */
export async function findTokenJob(
  deps: HubDeps,
  call: TokenCall,
  { orCompleted = false } = {},
): Promise<TokenJob> {
  const { jobId, jobToken } = call;
  if (jobToken !== null && jobToken.jobId !== jobId) {
    throw new WritError("PERMISSION_DENIED", "the job token is for another job", { job_id: jobToken.jobId });
  }
  const rules = rulesNow(deps);
  const stored =
    jobToken === null
      ? await findJob(deps, { ...call, to: "change" })
      : await deps.store.getJob({ jobId, tenantId: jobToken.tenantId });
  if (stored === null) throw await unknownJob(deps, call);
  const { job, damaged } = stored;
  // An edited policy must not be used.
  if (damaged.includes("document"))
    throw await brokenSeal(deps, job, { what: "document", origin: call.origin });
  const document = JSON.parse(stored.document) as JobDocument;
  const policy = storagePolicyOf(document) ?? [];
  if (jobToken !== null) {
    await refuseForged(deps, call, jobToken, { job, policy });
    await refuseBlocked(deps, jobToken.workerId);
  }

  const fence = fenceOf(job, jobToken);
  if (orCompleted && job.status === "completed" && job.attempt === fence.attempt)
    return { job, document, policy, fence };
  const change = { act: "renew" as const, fence };
  const held = decideChange(job, change, rules);
  if (held.kind === "refused") await jobOrThrow(deps, { ...call, change }, { ...held, job });
  if (jobToken !== null) await refuseLockdown(deps);
  return { job, document, policy, fence };
}

/** Refuses jobs that a blocked worker has started. */
async function refuseBlocked({ store }: HubDeps, workerId: string): Promise<void> {
  const worker = await store.getWorker({ workerId });
  if (worker?.blocked) throw new WritError("WORKER_BLOCKED", `worker ${workerId} of this job is blocked`);
}

/** Refuses calls during a lockdown, which takes back all leases, one batch after the other. */
async function refuseLockdown({ store }: HubDeps): Promise<void> {
  const lockdown = await store.getLockdown();
  if (lockdown !== null) throw lockdownError(lockdown);
}

/** The attempt replaces the lease token, because every claim has a new attempt number. */
function fenceOf(job: JobRecord, jobToken: JobToken | null): Fence {
  if (jobToken === null) return { workerId: job.workerId ?? "", attempt: null, tokenHash: null };
  return { workerId: jobToken.workerId, attempt: jobToken.attempt, tokenHash: null };
}

/**
 * Refuses a token that verifies although the hub cannot have made it: the key has leaked. Attempt numbers only rise, so
 * one above the job's own never existed; and the latest attempt had one worker and one policy.
 */
async function refuseForged(
  deps: HubDeps,
  { identity, origin }: TokenCall,
  jobToken: JobToken,
  { job, policy }: { job: JobRecord; policy: StorageRight[] },
): Promise<void> {
  const isLatest = jobToken.attempt === job.attempt;
  // A released job has no worker.
  const isOfWorker = job.workerId === null || jobToken.workerId === job.workerId;
  const isOther = isLatest && !(isOfWorker && isSamePolicy(jobToken.policy, policy));
  if (jobToken.attempt <= job.attempt && jobToken.attempt > 0 && !isOther) return;
  await deps.refusals.record({
    event: "KEY_COMPROMISE_SUSPECTED",
    caller: identity.tokenId,
    tenantId: job.tenantId,
    jobId: job.id,
    origin,
    details: {
      violation_type: "FORGED_JOB_TOKEN",
      job_id: job.id,
      attempt: jobToken.attempt,
      current_attempt: job.attempt,
      worker_id: jobToken.workerId,
      error: "a job token verifies, but this hub never made it",
    },
  });
  throw new WritError("UNAUTHENTICATED", "the job token is refused: the hub has not made it");
}

function isSamePolicy(a: StorageRight[], b: StorageRight[]): boolean {
  const text = (rights: StorageRight[]) =>
    JSON.stringify(rights.map(({ folderId, prefix, method }) => [folderId, prefix, method]));
  return text(a) === text(b);
}
