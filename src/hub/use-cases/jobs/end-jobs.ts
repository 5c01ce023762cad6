import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import { isEnded } from "../../../core/jobs/job.ts";
import type { JobBrief } from "../../../store/store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { jobOrThrow } from "../access/job-or-throw.ts";
import { findJob } from "./find-job.ts";

type Call = { identity: Identity; jobId: string; origin: Origin };

/** Cancels a job. `over` is false while a worker still has to be stopped. */
export async function cancelJob(deps: HubDeps, call: Call): Promise<{ job: JobBrief; over: boolean }> {
  const job = await change(deps, call, "cancel");
  return { job, over: isEnded(job.status) };
}

/** Puts a failed or quarantined job back into the queue. */
export async function retryJob(deps: HubDeps, call: Call): Promise<JobBrief> {
  return change(deps, call, "retry");
}

/** Keeps a pending job from being claimed until somebody resumes it. */
export async function holdJob(deps: HubDeps, call: Call): Promise<JobBrief> {
  return change(deps, call, "hold");
}

export async function resumeJob(deps: HubDeps, call: Call): Promise<JobBrief> {
  return change(deps, call, "resume");
}

type Act = "cancel" | "retry" | "hold" | "resume";

async function change(deps: HubDeps, call: Call, act: Act): Promise<JobBrief> {
  await findJob(deps, { ...call, to: "change" });
  const asked = { jobId: call.jobId, change: { act } };
  const [answer] = await deps.store.changeJobs({
    changes: [asked],
    rules: rulesNow(deps),
    origin: call.origin,
  });
  return jobOrThrow(deps, { ...call, ...asked }, answer!);
}
