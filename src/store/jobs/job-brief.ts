import type { JobRecord } from "../../core/jobs/job.ts";
import type { JobBrief } from "../store.ts";

/** The few fields of a record that are returned to those who claim or change a job. Why: ADR 0003. */
export function briefOf(job: JobRecord): JobBrief {
  return {
    id: job.id,
    tenantId: job.tenantId,
    type: job.type,
    status: job.status,
    attempt: job.attempt,
    workerId: job.workerId,
    documentSha256: job.documentSha256,
    timeoutSec: job.timeoutSec,
    limitsDefaulted: job.limitsDefaulted,
    runAt: job.runAt,
    claimedAt: job.claimedAt,
    startedAt: job.startedAt,
    completedAt: job.completedAt,
    leaseExpiresAt: job.leaseExpiresAt,
    leaseKeyId: job.leaseKeyId,
    attempts: job.attempts,
    createdAt: job.createdAt,
    cancelRequestedAt: job.cancelRequestedAt,
  };
}
