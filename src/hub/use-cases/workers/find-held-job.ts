import { decideChange } from "../../../core/jobs/change.ts";
import type { StoredJob } from "../../../store/store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { jobOrThrow } from "../access/job-or-throw.ts";
import { unknownJob } from "../access/unknown-job.ts";
import { fenceOf } from "./attempt-fence.ts";
import type { AttemptCall } from "./change-attempt.ts";
import { findActingWorker } from "./find-worker.ts";

/** The job, if the call is for the attempt that holds its lease. It changes nothing, not even the lease. */
export async function findHeldJob(deps: HubDeps, call: AttemptCall): Promise<StoredJob> {
  await findActingWorker(deps, { identity: call.identity, workerId: call.worker_id });
  const change = { act: "renew" as const, fence: fenceOf(call.identity, call) };
  const { identity, jobId } = call;
  // Made when the job is read, so that the two belong together even if the clock is set meanwhile.
  const rules = rulesNow(deps);
  const stored = await deps.store.getJob({ jobId, tenantId: identity.tenantId });
  if (stored === null) throw await unknownJob(deps, call);
  const held = decideChange(stored.job, change, rules);
  if (held.kind === "refused") await jobOrThrow(deps, { ...call, change }, { ...held, job: stored.job });
  return stored;
}
