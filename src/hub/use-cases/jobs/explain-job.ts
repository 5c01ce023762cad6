import type { WhyView } from "../../../contract/view-shapes.ts";
import { isEnded, type JobRecord } from "../../../core/job.ts";
import { misfits, parseQueueKey } from "../../../core/queue-key.ts";
import { timeText } from "../../../core/time-text.ts";
import type { WorkerRecord } from "../../../store/worker-store.ts";
import type { HubDeps } from "../../deps.ts";
import { mayServe } from "../access/tenant-wall.ts";

/** How many workers are judged one by one; if there are more, those that come closest to fitting are shown. */
const workersShownMax = 50;

/** Why a job is in its current state, as a sentence and as data. */
export async function explainJob(deps: HubDeps, job: JobRecord): Promise<WhyView> {
  if (job.status !== "pending") return { ...nothingHolds(job), summary: summaryOfHeld(job) };
  const position = await deps.store.getQueuePosition({ jobId: job.id });
  const quota = await deps.quotas.get(job.tenantId);
  const workers = await deps.store.listWorkers();
  const judged = judge(
    job,
    workers.filter((worker) => mayServe(worker, job.tenantId)),
  );
  const why = {
    ...nothingHolds(job),
    position: position === null ? null : position.ahead + 1,
    paused: position?.paused ?? false,
    retry_due_at: job.runAt > deps.clock.nowMs() ? job.runAt : null,
    workers: judged,
  };
  const lockdown = (await deps.store.listLockedTenants()).find(({ tenantId }) => tenantId === job.tenantId);
  const held = heldBy(why, { maxRunning: quota.max_running, lockdown });
  return { ...why, held_by: held.by, summary: held.summary };
}

function nothingHolds(job: JobRecord): WhyView {
  return {
    status: job.status,
    summary: "",
    position: null,
    retry_due_at: null,
    paused: false,
    held_by: null,
    workers: [],
  };
}

function summaryOfHeld(job: JobRecord): string {
  if (isEnded(job.status)) {
    return job.status === "completed"
      ? "It has completed."
      : `It ended as ${job.failReason}: ${lastReason(job)}.`;
  }
  const told = job.cancelRequestedAt === null ? "" : " It has been told to stop.";
  return `Worker ${job.workerId} ${job.status === "running" ? "runs it" : "has it and will start it"}, attempt ${job.attempt}.${told}`;
}

function lastReason(job: JobRecord): string {
  return job.failHistory.at(-1)?.reason ?? "no reason was given";
}

function judge(job: JobRecord, workers: WorkerRecord[]): WhyView["workers"] {
  const queue = parseQueueKey(job.queueKey);
  const judged = workers.map((worker) => {
    const why = [...misfits(queue, worker.facts), ...unavailable(worker)];
    return { worker_id: worker.id, fits: why.length === 0, why };
  });
  return judged.sort((a, b) => a.why.length - b.why.length).slice(0, workersShownMax);
}

function unavailable(worker: WorkerRecord): string[] {
  if (worker.blocked) return ["is blocked"];
  if (worker.draining) return ["is draining"];
  if (worker.status === "inactive") return ["is inactive"];
  return worker.currentJobs >= worker.slots ? ["has no free slot"] : [];
}

type Limits = { maxRunning?: number; lockdown?: { reason: string } };

function heldBy(why: WhyView, quota: Limits): { by: string | null; summary: string } {
  if (why.retry_due_at !== null) {
    return { by: "run_at", summary: `It is not due before ${timeText(why.retry_due_at)}.` };
  }
  if (why.paused) return { by: "paused", summary: "Its type is paused by an administrator." };
  if (quota.lockdown !== undefined) {
    return { by: "lockdown", summary: `Its tenant is locked: ${quota.lockdown.reason}.` };
  }
  if (quota.maxRunning === 0) return { by: "max_running", summary: "Its tenant may run no job at all." };
  if (why.workers.length === 0) return { by: "no_worker", summary: "No worker is registered." };
  if (!why.workers.some((worker) => worker.fits)) {
    const [closest] = why.workers;
    return {
      by: "no_fitting_worker",
      summary: `No worker can take it now; ${closest!.worker_id} ${closest!.why.join(", ")}.`,
    };
  }
  const ahead = (why.position ?? 1) - 1;
  if (ahead > 0) return { by: "queue", summary: `${ahead} ${ahead === 1 ? "job goes" : "jobs go"} first.` };
  return { by: null, summary: "It is next and a worker that fits is there." };
}
