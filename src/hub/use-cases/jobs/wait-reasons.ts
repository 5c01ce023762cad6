import type { WaitCode } from "../../../contract/why-view.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import { mayRunMore, type Quota } from "../../../core/jobs/quota.ts";
import { termsOf } from "../../../core/jobs/terms.ts";
import { type LaneNumbers, type LaneState, rateOpensAt } from "../../../core/lanes/lane.ts";
import { maxRetries, retriesUsed } from "../../../core/retry/retry-policy.ts";
import { timeText } from "../../../core/text/time-text.ts";

/** A worker as judged for one job. */
export type JudgedWorker = {
  id: string;
  /** Why it can never take the job as it is registered. */
  misfits: string[];
  /** Why it gets no jobs at all at present, such as `is draining`; null if it could. */
  unavailable: string | null;
  isFull: boolean;
};

export type Waiting = {
  job: JobRecord;
  nowMs: number;
  /** The lockdown of the hub or the tenant. */
  lockdown: { reason: string; tenantId: string | null } | null;
  isPaused: boolean;
  quota: Quota;
  /** How many jobs of its tenant are assigned or running. */
  running: number;
  ahead: number;
  /** The lanes that it names, as they are. */
  lanes: (LaneNumbers & LaneState & { name: string; holders: { jobId: string }[] })[];
  /** The workers, best fit first. */
  workers: JudgedWorker[];
};

type Reason = { code: WaitCode; text: string };

/** A fitting worker with a free slot takes a job within moments; after this time it counts as not asking. */
const askMs = 10_000;

/**
 * Every reason that holds a pending job, the one that must end first at the beginning. Empty if the job is about to
 * start.
 */
export function waitReasons(waiting: Waiting): Reason[] {
  return [
    locked(waiting),
    held(waiting),
    early(waiting),
    paused(waiting),
    ...fullLanes(waiting),
    overQuota(waiting),
    noWorker(waiting),
  ].filter((reason) => reason !== null);
}

/** The sentence for a job that nothing holds. */
export function nextText({ workers }: Waiting): string {
  return `It is the next of its queue, and worker ${workers[0]!.id} has room for it.`;
}

function locked({ lockdown }: Waiting): Reason | null {
  if (lockdown === null) return null;
  const { reason, tenantId } = lockdown;
  const what = tenantId === null ? "The hub" : `Tenant ${tenantId}`;
  const lift = `writ lockdown --lift${tenantId === null ? "" : ` --tenant ${tenantId}`}`;
  return {
    code: "lockdown",
    text: `${what} is locked (${reason}); an administrator lifts it with \`${lift}\`.`,
  };
}

function held({ job }: Waiting): Reason | null {
  if (job.heldAt === null) return null;
  const since = timeText(job.heldAt);
  return {
    code: "hold",
    text: `Somebody has held it since ${since}; it waits until it is resumed with \`jobctl resume\`.`,
  };
}

function early({ job, nowMs }: Waiting): Reason | null {
  if (job.runAt <= nowMs) return null;
  const at = timeText(job.runAt);
  const last = job.failHistory.at(-1);
  if (last !== undefined && last.attempt === job.attempt) {
    const why = `${last.code}: ${cut(last.reason)}`;
    return { code: "retry", text: `Attempt ${countOf(job)} failed (${why}); it is tried again at ${at}.` };
  }
  const why = job.attempt > 0 ? "A worker gave it back; it is offered again" : "It is to start";
  return { code: "run_at", text: `${why} at ${at}.` };
}

/** The attempt that has failed, and of how many. A policy counts retries, and not what lost workers have cost. */
function countOf(job: JobRecord): string {
  const { retry } = termsOf(job);
  if (retry === undefined) return `${job.attempts} of ${job.maxAttempts}`;
  return `${job.attempts}, before retry ${retriesUsed(job.retryCounts)} of ${maxRetries(retry)},`;
}

const reasonCharsMax = 200;

/** The beginning of a reason, on one line; the whole of it is in the history of the job. */
function cut(reason: string): string {
  const line = reason.replaceAll(/\s+/g, " ").trim();
  return line.length <= reasonCharsMax ? line : `${line.slice(0, reasonCharsMax).toWellFormed()}…`;
}

function paused({ job, isPaused }: Waiting): Reason | null {
  if (!isPaused) return null;
  const text = `Type ${job.type} is paused; an administrator resumes it with \`writ queues resume ${job.type}\`.`;
  return { code: "paused", text };
}

function fullLanes({ lanes, nowMs }: Waiting): Reason[] {
  return lanes.flatMap((lane): Reason[] => {
    const { name, maxRunning, active, rate } = lane;
    const opensAt = rateOpensAt(lane, nowMs);
    if (maxRunning !== null && active >= maxRunning) {
      const [first] = lane.holders;
      const one = maxRunning === 1 ? "" : ", one";
      const by = first === undefined ? "" : `${one} by job ${first.jobId}`;
      const places = maxRunning === 1 ? "its one place is" : `its ${maxRunning} places are`;
      return [
        { code: "lane", text: `Lane ${name} is full: ${places} taken${by}; it starts when one is free.` },
      ];
    }
    if (rate === null || opensAt === null) return [];
    const pace = `${rate.limit} ${rate.limit === 1 ? "job" : "jobs"} in ${rate.periodSec} s`;
    return [{ code: "rate", text: `Lane ${name} starts ${pace}; it opens at ${timeText(opensAt)}.` }];
  });
}

function overQuota({ job, quota, running }: Waiting): Reason | null {
  if (mayRunMore(running, quota)) return null;
  const tenant = `Tenant ${job.tenantId}`;
  const text =
    running === 0
      ? `${tenant} may run no jobs (max_running is 0); an administrator raises it with \`writ quotas\`.`
      : `${tenant} runs ${running} ${running === 1 ? "job" : "jobs"}, as many as it may (max_running); wait for one to end.`;
  return { code: "max_running", text };
}

function noWorker(waiting: Waiting): Reason | null {
  const { workers } = waiting;
  const [closest] = workers;
  if (closest === undefined) {
    return { code: "no_worker", text: "No worker is registered; start one with `writ worker`." };
  }
  const fitting = workers.filter(({ misfits }) => misfits.length === 0);
  if (fitting.length === 0) {
    const lacks = `the closest, ${closest.id}, ${closest.misfits.join(", ")}`;
    return { code: "no_fitting_worker", text: `No worker fits, so start one that does: ${lacks}.` };
  }
  const available = fitting.filter(({ unavailable }) => unavailable === null);
  if (available.length === 0) {
    const { id, unavailable } = fitting[0]!;
    const more = fitting.length === 1 ? "" : `, and ${fitting.length - 1} more`;
    const text = `No worker that fits is available: ${id} ${unavailable}${more}; start one, or see \`writ workers list\`.`;
    return { code: "workers_unavailable", text };
  }
  const free = available.filter(({ isFull }) => !isFull);
  if (free.length === 0) {
    const all =
      available.length === 1 ? `Worker ${available[0]!.id} is` : `All ${available.length} workers are`;
    return { code: "workers_full", text: `${all} busy; it starts when a slot is free${behind(waiting)}.` };
  }
  return inQueue(waiting, free);
}

function behind({ ahead }: Waiting): string {
  if (ahead === 0) return "";
  return ahead === 1
    ? " and the job before it in its queue has started"
    : ` and the ${ahead} jobs before it in its queue have started`;
}

function inQueue({ ahead, job, nowMs }: Waiting, [worker]: JudgedWorker[]): Reason | null {
  if (ahead > 0) {
    return { code: "queue", text: `${ahead} ${ahead === 1 ? "job is" : "jobs are"} before it in its queue.` };
  }
  if (nowMs - Math.max(job.createdAt, job.runAt) < askMs) return null;
  const text = `Worker ${worker!.id} has room but does not ask for it; check that it runs with WORKER_ENABLED=true.`;
  return { code: "workers_not_asking", text };
}
