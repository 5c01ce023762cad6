import { usageWithEarlier } from "../agents/agent-budget.ts";
import { type AgentCall, callDetails } from "../agents/agent-use.ts";
import {
  claim,
  disconnect,
  endAttempt,
  recall,
  reject,
  release,
  renewed,
  start,
  stopped,
} from "./attempt-acts.ts";
import { decideDue } from "./due.ts";
import type { FailureClass } from "./failure.ts";
import { isActive, type JobRecord } from "./job.ts";
import { cancel, hold, postpone, refuse, resume, retry, supersede } from "./job-acts.ts";
import { type ChangeRules, conflict, moved, type Outcome, refused } from "./outcome.ts";
import { type Act, isAllowed, leadsTo } from "./states.ts";

/** Which attempt a call is about. Only an administrator may leave out attempt and token. */
export type Fence = { workerId: string; attempt: number | null; tokenHash: string | null };

export type AttemptReport = {
  exitCode: number | null;
  isolation: string | null;
  usage: string | null;
  outputFiles: string | null;
  receipt: string | null;
};

type AttemptEnd = AttemptReport & {
  fence: Fence;
  /** When it started by its worker's clock, for an attempt whose start may not have been announced. */
  startedAt?: number;
  /** How long it ran, by the same clock. */
  ranMs?: number;
};

/** Every change that can be made to a job in the store. JSON is passed as canonical text. */
export type Change =
  | { act: "claim"; workerId: string; tokenHash: string; keyId?: string | null }
  | { act: "refuse" }
  | { act: "due" }
  /** `keepsLease`: the job itself reports it, which renews no lease. */
  | { act: "start"; fence: Fence; isolation: string | null; keepsLease?: true }
  /** `usage` is what the attempt has used so far, as JSON. */
  | { act: "renew"; fence: Fence; usage?: string | undefined }
  | { act: "progress"; fence: Fence; progress: string }
  /** What a coding agent has done, as it reports it: one event for each call. */
  | { act: "agent"; fence: Fence; calls: readonly AgentCall[] }
  /** The processes of a cancelled attempt are dead; its output is still being sent. */
  | { act: "stopped"; fence: Fence; exitCode: number }
  | { act: "release"; fence: Fence; reason: string }
  | { act: "reject"; fence: Fence; reason: string }
  | ({
      act: "result";
      result: string;
      resultHash: string;
      resultKey: string | null;
    } & AttemptEnd)
  | ({
      act: "fail";
      code: FailureClass;
      detail: string | null;
      reason: string;
      partialResult: string | null;
      /** Another attempt cannot help: none is made, whatever the code allows. */
      isFinal?: true;
      /** When it is to be tried again, if it is: after this long instead of the ordinary delay. */
      retryInSec?: number;
      lastLine?: string | null;
    } & AttemptEnd)
  | { act: "disconnect" }
  | { act: "recall"; reason: string }
  | { act: "cancel" }
  /** A job with the same unique key takes its place. */
  | { act: "supersede"; by: string }
  /** A job with the same unique key was submitted, for which this one stands. */
  | { act: "postpone"; runAt: number }
  | { act: "hold" }
  | { act: "resume" }
  /** `isKeyTaken`: another job has the unique key of this one now. */
  | { act: "retry"; isKeyTaken?: boolean };

/**
 * The whole life of a job as one pure function: what a change does to a job, or why it does nothing. A store only loads
 * the job, calls this, and writes the patch under the same fence, so two stores cannot behave differently.
 * Why: ADR 0007, ADR 0022.
 */
export function decideChange(job: JobRecord, change: Change, rules: ChangeRules): Outcome {
  const outcome = decide(job, change, rules);
  if (outcome.kind === "moved") assertInTable(job, change, outcome.patch);
  return outcome;
}

function decide(job: JobRecord, change: Change, rules: ChangeRules): Outcome {
  switch (change.act) {
    case "due":
      return decideDue(job, rules);
    case "claim":
      return job.status === "pending" ? claim(job, change, rules) : conflict(job, "claim");
    case "refuse":
      return job.status === "pending" ? refuse(job, rules) : conflict(job, "refuse");
    case "disconnect":
      return isActive(job.status) ? disconnect(job, rules) : conflict(job, "disconnect");
    case "recall":
      return isActive(job.status) ? recall(job, change, rules) : conflict(job, "recall");
    case "cancel":
      return cancel(job, rules);
    case "hold":
      return hold(job, rules);
    case "resume":
      return resume(job, rules);
    case "retry":
      return retry(job, change, rules);
    case "supersede":
      return supersede(job, change, rules);
    case "postpone":
      return postpone(job, change);
  }
  const lost = checkFence(job, change, rules);
  if (lost !== null) return lost;
  switch (change.act) {
    case "start":
      return start(job, change, rules);
    case "renew":
      return moved({
        ...renewed(job, rules),
        ...(change.usage === undefined ? {} : { usage: usageWithEarlier(job, change.usage) }),
      });
    case "progress":
      return moved({ ...renewed(job, rules), progress: change.progress }, [
        { event: "JOB_PROGRESS", details: { progress: change.progress } },
      ]);
    case "agent":
      return moved(
        renewed(job, rules),
        change.calls.map((call) => ({ event: "JOB_AGENT", details: callDetails(call) })),
      );
    case "stopped":
      return stopped(job, change, rules);
    case "release":
      return release(job, change, rules);
    case "reject":
      return reject(job, change, rules);
    case "result":
    case "fail":
      return endAttempt(job, change, rules);
  }
}

/**
 * The fence: a call is accepted only for the attempt that holds the lease now. The token decides, never the worker's
 * name alone, because the same worker may have claimed the job again since.
 */
function checkFence(job: JobRecord, change: { act: Act; fence: Fence }, rules: ChangeRules): Outcome | null {
  const { fence, act } = change;
  const speaksForLatest =
    fence.workerId === job.workerId &&
    (fence.attempt === null || fence.attempt === job.attempt) &&
    (fence.tokenHash === null || fence.tokenHash === job.leaseTokenHash);
  if (!speaksForLatest) return refused("LEASE_LOST", "this attempt is not the current one");
  if (job.status === "completed" && act === "result") return null;
  if (!isAllowed(act, job.status)) return refused("LEASE_LOST", `the job is already ${job.status}`);
  if (isExpired(job, rules)) return refused("LEASE_LOST", "the lease of this attempt has expired");
  return null;
}

function isExpired({ leaseExpiresAt }: JobRecord, { nowMs, areRenewalsRefused }: ChangeRules): boolean {
  return leaseExpiresAt !== null && leaseExpiresAt <= nowMs && areRenewalsRefused !== true;
}

/** The table in states.ts is the authority; a rule that leads elsewhere is a bug in this file. */
function assertInTable(job: JobRecord, change: Change, patch: Partial<JobRecord>): void {
  const to = patch.status ?? job.status;
  const acts: Act[] = change.act === "due" ? ["expire", "disconnect", "timeout", "abandon"] : [change.act];
  if (!acts.some((act) => leadsTo(act, job.status, to))) {
    throw new Error(
      `${change.act} would lead from ${job.status} to ${to}, which the state table does not have`,
    );
  }
}
