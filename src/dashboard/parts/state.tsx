import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import type { JobState } from "../../core/jobs/job.ts";
import { useLockdown } from "../hub/lockdown.ts";
import { Icon, type IconName } from "./icon.tsx";
import { isScheduled } from "./is-scheduled.ts";

/** States as people see them: scheduled, retrying and cancelled jobs have words of their own. */
type ShownState = JobState | "scheduled" | "retrying" | "cancelled";

export const stateWords: Record<ShownState, string> = {
  pending: "Pending",
  assigned: "Assigned",
  running: "Running",
  completed: "Completed",
  failed: "Failed",
  quarantined: "Dead letter",
  scheduled: "Scheduled",
  retrying: "Retrying",
  cancelled: "Cancelled",
};

export function shownState(job: {
  status: JobState;
  attempt: number;
  fail_code: string | null;
  run_at: number;
}): ShownState {
  if (job.status === "failed" && job.fail_code === "CANCELLED") return "cancelled";
  if (job.status === "pending" && job.attempt > 0) return "retrying";
  return isScheduled(job) ? "scheduled" : job.status;
}

/** The state whose colours are used. */
export function colourOf(state: ShownState): JobState {
  return state === "scheduled" || state === "retrying" || state === "cancelled" ? "pending" : state;
}

export function StateIcon({ state }: { state: ShownState }) {
  if (state !== "running") {
    return (
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <use href={`#state-${state}`} />
      </svg>
    );
  }
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.8" opacity=".28" />
      <path
        className="spin"
        d="M8 2a6 6 0 1 1-5.6 3.8"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.8"
        strokeLinecap="round"
      />
      <path d="M6.7 5.6v4.8L10.6 8z" fill="currentColor" />
    </svg>
  );
}

export function StateBadge({ state, isBadge = false }: { state: ShownState; isBadge?: boolean }) {
  return (
    <span className={isBadge ? "state badge" : "state"} data-state={colourOf(state)}>
      <StateIcon state={state} />
      <span>{stateWords[state]}</span>
    </span>
  );
}

type WorkerStatus = WorkerView["status"];

export const workerWords: Record<WorkerStatus, { word: string; icon: IconName; colour: JobState }> = {
  active: { word: "Active", icon: "active", colour: "completed" },
  draining: { word: "Draining", icon: "drain", colour: "assigned" },
  inactive: { word: "Silent", icon: "silent", colour: "failed" },
  blocked: { word: "Blocked", icon: "block", colour: "failed" },
};

/** A lockdown stops all workers: they still report, and are not silent. */
const lockedWords = { word: "Locked", icon: "lock", colour: "failed" } as const;

export function WorkerStatusBadge({ status }: { status: WorkerStatus }) {
  const isLocked = useLockdown()?.locked === true;
  const { word, icon, colour } = isLocked && status === "inactive" ? lockedWords : workerWords[status];
  return (
    <span className="state" data-state={colour}>
      <Icon name={icon} />
      <span>{word}</span>
    </span>
  );
}
