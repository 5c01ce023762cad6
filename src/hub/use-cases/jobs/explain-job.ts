import type { WhyView } from "../../../contract/why-view.ts";
import { isEnded, type JobRecord } from "../../../core/jobs/job.ts";
import { lanesOf } from "../../../core/lanes/lane-move.ts";
import type { StoredJob } from "../../../store/store.ts";
import type { HubDeps } from "../../deps.ts";
import { judgeWorkers } from "./judge-workers.ts";
import { type JudgedWorker, nextText, type Waiting, waitReasons } from "./wait-reasons.ts";

/** The most workers that are listed; of more, those that come closest to fitting. */
const workersShownMax = 50;

/** Why a job is in its current state: as a sentence, as codes, and as data. */
export async function explainJob(deps: HubDeps, { job, damaged }: StoredJob): Promise<WhyView> {
  if (damaged.includes("state")) return heldByDamage(job, contradictedText);
  if (job.status !== "pending") return viewWithoutReasons(job);
  if (damaged.includes("row") || damaged.includes("document")) return heldByDamage(job, damagedText);
  const position = await deps.store.getQueuePosition({ jobId: job.id });
  if (position === null) return viewWithoutReasons(job);
  const nowMs = deps.clock.nowMs();
  const waiting: Waiting = {
    job,
    nowMs,
    lockdown: await lockdownOf(deps, job.tenantId),
    isPaused: position.paused,
    quota: await deps.quotas.get(job.tenantId),
    running: position.running,
    ahead: position.ahead,
    lanes: await lanesAround(deps, job),
    workers: await judgeWorkers(deps, job),
  };
  const reasons = waitReasons(waiting);
  return {
    status: job.status,
    summary: reasons[0]?.text ?? nextText(waiting),
    position: position.ahead + 1,
    retry_due_at: job.runAt > nowMs ? job.runAt : null,
    paused: position.paused,
    held_by: reasons[0]?.code ?? null,
    reasons,
    failure: lastFailure(job),
    workers: waiting.workers.slice(0, workersShownMax).map(shownWorker),
  };
}

const damagedText =
  "Its stored document is damaged, so no worker is given it; cancel it, or restore a backup.";
const contradictedText =
  "Its stored state contradicts its timeline, so somebody or a fault has changed it; read its events, or restore a backup.";

function heldByDamage(job: JobRecord, text: string): WhyView {
  return {
    ...viewWithoutReasons(job),
    summary: text,
    held_by: "damaged",
    reasons: [{ code: "damaged", text }],
  };
}

function viewWithoutReasons(job: JobRecord): WhyView {
  return {
    status: job.status,
    summary: summaryOf(job),
    position: null,
    retry_due_at: null,
    paused: false,
    held_by: null,
    reasons: [],
    failure: lastFailure(job),
    workers: [],
  };
}

function summaryOf(job: JobRecord): string {
  if (job.status === "completed") return "It has completed.";
  if (isEnded(job.status)) {
    const reason = lastReason(job);
    if (job.failCode !== "CANCELLED") return `It ended as ${job.failReason}: ${reason}.`;
    return reason === job.failReason ? "It was cancelled." : `It was cancelled: ${reason}.`;
  }
  const told = job.cancelRequestedAt === null ? "" : " It has been told to stop.";
  const has = job.status === "running" ? "runs it" : "has it and will start it";
  return `Worker ${job.workerId} ${has}, attempt ${job.attempt}.${told}`;
}

function lastFailure({ status, failHistory }: JobRecord): WhyView["failure"] {
  const last = failHistory.at(-1);
  if (last === undefined || status === "completed") return null;
  const { code, detail, last_line } = last;
  return { code, detail, ...(last_line === undefined ? {} : { last_line }) };
}

function lastReason(job: JobRecord): string {
  return job.failHistory.at(-1)?.reason ?? "no reason was given";
}

/** As they are now; a job without lanes asks for none. */
async function lanesAround({ store }: HubDeps, job: JobRecord): Promise<Waiting["lanes"]> {
  const names = lanesOf(job).map(({ name }) => name);
  if (names.length === 0) return [];
  const lanes = await store.getLanes({ tenantId: job.tenantId, names });
  const isOwn = ({ userId }: { userId: string }): boolean => userId === job.userId;
  return lanes.map((lane) => ({ ...lane, holders: lane.holders.filter(isOwn) }));
}

async function lockdownOf({ store }: HubDeps, tenantId: string): Promise<Waiting["lockdown"]> {
  const ofHub = await store.getLockdown();
  if (ofHub !== null) return { reason: ofHub.reason, tenantId: null };
  const ofTenant = (await store.listLockedTenants()).find((locked) => locked.tenantId === tenantId);
  return ofTenant === undefined ? null : { reason: ofTenant.reason, tenantId };
}

function shownWorker({
  id,
  misfits: lacks,
  unavailable: why,
  isFull,
}: JudgedWorker): WhyView["workers"][number] {
  const full = isFull && why === null ? ["has no free slot"] : [];
  const all = [...lacks, ...(why === null ? [] : [why]), ...full];
  return { worker_id: id, fits: all.length === 0, why: all };
}
