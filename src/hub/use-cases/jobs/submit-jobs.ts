import type { JobSubmission } from "../../../contract/shapes/submit-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import { defaultTenant, type Identity } from "../../../core/identity.ts";
import type { SubmitOutcome, SubmittedJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { traceSubmitted } from "../../services/trace-jobs.ts";
import { laneNumbersView } from "../../views/lane-view.ts";
import { checkRate } from "../access/check-rate.ts";
import type { Defaulted } from "./build-document.ts";
import { checkCommand } from "./command-policy.ts";
import { makeDocuments } from "./make-documents.ts";

/** Accepts all of these jobs or none; they are on disk before the answer. Why: ADR 0062. */
export async function submitJobs(
  deps: HubDeps,
  input: { identity: Identity; submissions: JobSubmission[]; defaulted?: Defaulted; origin: Origin },
): Promise<SubmittedJob[]> {
  const { identity, submissions, defaulted, origin } = input;
  const author = { tenantId: identity.tenantId ?? defaultTenant, userId: identity.userId };
  for (const submission of submissions) {
    checkCommand(deps.settings.commands, { userId: author.userId, submission });
  }
  const quota = await deps.quotas.get(author.tenantId);
  if (quota.submits_per_sec !== undefined) {
    await checkRate(deps, {
      limit: "submits_per_sec",
      subject: author.tenantId,
      perSecond: quota.submits_per_sec,
      count: submissions.length,
      refusal: `the tenant may submit ${quota.submits_per_sec} jobs a second`,
      tenantId: author.tenantId,
      origin,
    });
  }
  const nowMs = deps.clock.nowMs();
  const jobs = makeDocuments(submissions, author, { nowMs, defaulted, newId: () => deps.ids.jobId(nowMs) });
  if (identity.role === "admin") for (const job of jobs) if (job.terms !== null) job.actsForAll = true;
  await deps.failpoint("submit.beforeCommit");
  const outcome = await deps.store.submitJobs({ jobs, maxPending: quota.max_pending ?? null, origin });
  await deps.failpoint("submit.afterCommit");
  if (outcome.kind === "accepted") {
    const added = jobs.filter((_, index) => outcome.jobs[index]?.existed === false);
    deps.metrics.submitted.inc(added.length);
    traceSubmitted(deps, added, { startMs: nowMs, endMs: deps.clock.nowMs() });
    return outcome.jobs;
  }
  if (outcome.kind === "mismatch") {
    const { jobId, index } = outcome;
    if (jobId === null) {
      const message = "another user of the tenant has used this key or job_id; choose another one";
      throw new WritError("IDEMPOTENCY_MISMATCH", message, { index });
    }
    throw new WritError("IDEMPOTENCY_MISMATCH", "the key or job_id was already used for a different job", {
      job_id: jobId,
      index,
    });
  }
  const refused = { caller: identity.tokenId, tenantId: author.tenantId, jobId: null, origin };
  if (outcome.kind === "unique_held") {
    // Neither its id nor its owner is told: the key may be all that the caller knows of it.
    const error = "another user's job has the unique key";
    await deps.refusals.record({
      ...refused,
      event: "PERMISSION_DENIED",
      details: { role: identity.role, error },
    });
    throw new WritError("UNIQUE_HELD", `${error}; choose another key`, { index: outcome.index });
  }
  if (outcome.kind === "lane_differs") throw laneDiffers(outcome);
  const { message, details } = quotaRefusal(outcome);
  await deps.refusals.record({ ...refused, event: "QUOTA_EXCEEDED", details });
  throw new WritError("QUOTA_EXCEEDED", message, { retry_after_sec: 5 });
}

/** The numbers that hold are named, because the caller can give them and be accepted. */
function laneDiffers({ index, lane }: Extract<SubmitOutcome, { kind: "lane_differs" }>): WritError {
  const { name, ...numbers } = lane;
  const message = `lanes: another user's job has made lane ${name} with other numbers; give the same ones, or use another name`;
  return new WritError("LANE_DIFFERS", message, { index, name, ...laneNumbersView(numbers) });
}

type OverQuota = Extract<SubmitOutcome, { kind: "over_quota" | "too_many_queues" }>;

function quotaRefusal(outcome: OverQuota): { message: string; details: Record<string, number> } {
  if (outcome.kind === "over_quota") {
    const { pending, maxPending } = outcome;
    return {
      message: `the tenant has ${pending} of ${maxPending} allowed pending jobs`,
      details: { pending, max_pending: maxPending },
    };
  }
  const { waiting, maxQueues } = outcome;
  return {
    message: `the tenant has pending jobs in ${waiting} of ${maxQueues} allowed queues, one for each combination of type and requirements; use fewer types, or ask for a higher max_queues`,
    details: { queues: waiting, max_queues: maxQueues },
  };
}
