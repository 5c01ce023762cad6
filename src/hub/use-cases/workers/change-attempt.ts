import type { AgentCall } from "../../../core/agents/agent-use.ts";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { JobBrief } from "../../../store/store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { jobOrThrow } from "../access/job-or-throw.ts";
import { fenceOf } from "./attempt-fence.ts";
import { findActingWorker } from "./find-worker.ts";
import { syncOutput } from "./sync-output.ts";

export type AttemptCall = {
  identity: Identity;
  origin: Origin;
  jobId: string;
  worker_id: string;
  attempt?: number;
  token?: string;
};

type ReportedProgress = { progress?: number; detail?: string };

/** The attempt starts; a second start only renews the lease. */
export async function startJob(
  deps: HubDeps,
  call: AttemptCall & ReportedProgress & { isolation?: unknown },
): Promise<JobBrief> {
  const isolation = call.isolation === undefined ? null : JSON.stringify(call.isolation);
  const job = await changeAttempt(deps, call, { act: "start", isolation });
  if (call.progress !== undefined) await reportProgress(deps, { ...call, progress: call.progress });
  return job;
}

/**
 * Renews the lease, and refuses if the job was cancelled, for workers that learn of a cancel in no other way. The lease
 * is renewed in any case, so that the worker can stop the job and report its end.
 */
export async function heartbeatJob(deps: HubDeps, call: AttemptCall & ReportedProgress): Promise<void> {
  const { cancelRequestedAt } = await startJob(deps, call);
  if (cancelRequestedAt === null) return;
  throw new WritError("CANCELLED", "the job was cancelled; stop it and report its end, or release it", {
    cancel_requested_at: cancelRequestedAt,
  });
}

export async function reportProgress(
  deps: HubDeps,
  call: AttemptCall & { progress: number; detail?: string },
): Promise<void> {
  const { progress, detail = null } = call;
  await changeAttempt(deps, call, { act: "progress", progress: JSON.stringify({ progress, detail }) });
}

/** What a coding agent has done, as it tells its worker. */
export async function reportAgent(
  deps: HubDeps,
  call: AttemptCall & { calls: readonly AgentCall[] },
): Promise<void> {
  await changeAttempt(deps, call, { act: "agent", calls: call.calls });
}

/** Answers the callers that stopped the job, although it ends only when all of its output has arrived. */
export async function reportStopped(deps: HubDeps, call: AttemptCall & { exit_code: number }): Promise<void> {
  await changeAttempt(deps, call, { act: "stopped", exitCode: call.exit_code });
}

export async function releaseJob(deps: HubDeps, call: AttemptCall & { reason?: string }): Promise<JobBrief> {
  if (await isWithinReach(deps, call)) await syncOutput(deps, call.jobId);
  return changeAttempt(deps, call, { act: "release", reason: call.reason ?? "the worker gave it back" });
}

type AttemptAct =
  | { act: "start"; isolation: string | null }
  | { act: "progress"; progress: string }
  | { act: "agent"; calls: readonly AgentCall[] }
  | { act: "stopped"; exitCode: number }
  | { act: "release"; reason: string };

async function changeAttempt(deps: HubDeps, call: AttemptCall, act: AttemptAct): Promise<JobBrief> {
  await findActingWorker(deps, { identity: call.identity, workerId: call.worker_id });
  const fence = fenceOf(call.identity, call);
  const change = deps.store.changeJobs({
    changes: [{ jobId: call.jobId, change: { ...act, fence } }],
    rules: rulesNow(deps),
    origin: call.origin,
  });
  const [answer] = await deps.renewals.watch(change);
  return jobOrThrow(deps, { ...call, change: { ...act, fence } }, answer!);
}

/** Whether a caller of one tenant may touch the output of this job: not even a sync may show that the job exists. */
export async function isWithinReach(
  deps: Pick<HubDeps, "store">,
  { identity, jobId }: { identity: Identity; jobId: string },
): Promise<boolean> {
  const { tenantId } = identity;
  if (tenantId === null) return true;
  return (await deps.store.getOutputNotes({ jobIds: [jobId], tenantId })).length > 0;
}
