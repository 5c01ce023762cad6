import type { JobDocument } from "../../../contract/document.ts";
import { WritError } from "../../../core/errors.ts";
import { storagePolicyOf } from "../../../core/storage-policy.ts";
import { makeJobToken } from "../../../signing/job-token.ts";
import type { JobBrief } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { brokenSeal } from "../access/broken-seal.ts";
import type { AttemptCall } from "./change-attempt.ts";
import { findHeldJob } from "./find-held-job.ts";

type IssuedJobToken = { token: string; expiresAt: number };

/**
 * A new job token for an attempt that holds its lease. It does not renew the lease; only heartbeats do that.
 * Why: ADR 0016, ADR 0092.
 */
export async function issueJobToken(deps: HubDeps, call: AttemptCall): Promise<IssuedJobToken> {
  const held = await findHeldJob(deps, call);
  // An edited policy must not be signed.
  if (held.damaged.includes("document")) {
    throw await brokenSeal(deps, held.job, { what: "document", origin: call.origin });
  }
  const issued = jobTokenFor(deps, held);
  if (issued === null) {
    throw new WritError(
      "STATE_CONFLICT",
      `job ${call.jobId} has no output_location and no inputs, so it needs no job token`,
    );
  }
  return issued;
}

/** The token of the attempt that holds this job now; null if the job has nowhere to put files. */
export function jobTokenFor(
  { keys, metrics, clock }: Pick<HubDeps, "keys" | "metrics" | "clock">,
  { job, document }: { job: JobBrief; document: string },
): IssuedJobToken | null {
  const policy = policyIn(document);
  if (policy === null) return null;
  metrics.signatures.inc();
  const nowMs = clock.nowMs();
  const expiresAtTs = Math.ceil((nowMs + lifeMs(job)) / 1000);
  const token = makeJobToken(keys.signing, {
    jobId: job.id,
    attempt: job.attempt,
    tenantId: job.tenantId,
    workerId: job.workerId!,
    policy,
    issuedAtTs: Math.floor(nowMs / 1000),
    expiresAtTs,
  });
  return { token, expiresAt: expiresAtTs * 1000 };
}

const lifeMsMax = 24 * 3_600_000;
/** Time for a slow start of a container, and for a report that waits until the hub is back. */
const graceMs = 15 * 60_000;

/** As long as the attempt may run. Each use checks the lease, so the life need not be short. */
function lifeMs({ timeoutSec }: JobBrief): number {
  return timeoutSec === 0 ? lifeMsMax : Math.min(timeoutSec * 1000 + graceMs, lifeMsMax);
}

const storageFields = ['"output_location":', '"inputs":', '"stdin_from":'];

/** Most documents have no such field, may be large, and are claimed by the hundred, so only the others are parsed. */
function policyIn(document: string) {
  if (!storageFields.some((field) => document.includes(field))) return null;
  return storagePolicyOf(JSON.parse(document) as JobDocument);
}
