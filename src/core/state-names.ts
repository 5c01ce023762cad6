import type { JobRecord, JobState } from "./job.ts";

/** The states in the vocabularies of the other doors. Nothing else translates them. */

export type GrpcState = "QUEUED" | "RUNNING" | "EXITED" | "STOPPED" | "FAILED";
export type AgentState = "pending" | "running" | "success" | "failed";
export type RegistryState = "pending" | "running" | "completed" | "error" | "cancelled";

type Ended = Pick<JobRecord, "status" | "failCode" | "failDetail" | "exitCode">;

export function grpcState(job: Ended): GrpcState {
  if (job.status === "pending" || job.status === "assigned") return "QUEUED";
  if (job.status === "running") return "RUNNING";
  if (job.status === "completed") return "EXITED";
  if (job.failCode === "CANCELLED") return "STOPPED";
  return ranToItsOwnEnd(job) ? "EXITED" : "FAILED";
}

function ranToItsOwnEnd(job: Ended): boolean {
  return job.failDetail === "WORKER_EXIT_ERROR" && job.exitCode !== null && job.exitCode !== 0;
}

export function agentState(status: JobState): AgentState {
  const names = {
    pending: "pending",
    assigned: "pending",
    running: "running",
    completed: "success",
    failed: "failed",
    quarantined: "failed",
  } as const satisfies Record<JobState, AgentState>;
  return names[status];
}

export function registryState(job: Pick<JobRecord, "status" | "failCode">): RegistryState {
  if (job.failCode === "CANCELLED") return "cancelled";
  const names = {
    pending: "pending",
    assigned: "running",
    running: "running",
    completed: "completed",
    failed: "error",
    quarantined: "error",
  } as const satisfies Record<JobState, RegistryState>;
  return names[job.status];
}
