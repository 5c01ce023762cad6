import { isActive, type JobRecord, type JobState, type ListedState, stateBehind } from "./job.ts";

/** The names of states in the other interfaces. No other code translates them. */

export const grpcStates = ["QUEUED", "RUNNING", "EXITED", "STOPPED", "FAILED"] as const;
export type GrpcState = (typeof grpcStates)[number];

/**
 * The states that a job with this gRPC state can be in; not every job in those states has it. No filter finds a stopped
 * job whose output is still being sent: that lasts a moment, and its failure code is not written yet.
 */
export const statesBehind = {
  QUEUED: ["pending", "assigned"],
  RUNNING: ["running"],
  EXITED: ["completed", "failed", "quarantined"],
  STOPPED: ["failed"],
  FAILED: ["failed", "quarantined"],
} as const satisfies Record<GrpcState, readonly JobState[]>;

/**
 * The jobs with this gRPC state, or all, as a filter by states and a failure code. If it is not exact, it fits others
 * too, which have to be sorted out one by one.
 */
export function filterOfState(
  state: GrpcState | undefined,
  /** Only those of these states. */
  named: readonly ListedState[] | undefined,
): { statuses: ListedState[] | undefined; failCode: "CANCELLED" | undefined; isExact: boolean } {
  if (state === undefined) return { statuses: named && [...named], failCode: undefined, isExact: true };
  const behind: readonly JobState[] = statesBehind[state];
  return {
    statuses: named?.filter((name) => behind.includes(stateBehind(name))) ?? [...behind],
    failCode: state === "STOPPED" ? "CANCELLED" : undefined,
    isExact: state !== "EXITED" && state !== "FAILED",
  };
}

/**
 * Whether the processes of a cancelled job are dead while its output is still being sent. It ends when that has arrived.
 */
export function isStopped({
  status,
  cancelRequestedAt,
  exitCode,
}: Pick<JobRecord, "status" | "cancelRequestedAt" | "exitCode">): boolean {
  return isActive(status) && cancelRequestedAt !== null && exitCode !== null;
}

export type RegistryState = "pending" | "running" | "completed" | "error" | "cancelled";

/** The state in the registry's words, which messages about jobs use too. */
export function registryState({ status, failCode }: Pick<JobRecord, "status" | "failCode">): RegistryState {
  if (status === "pending" || status === "running" || status === "completed") return status;
  if (status === "assigned") return "running";
  return failCode === "CANCELLED" ? "cancelled" : "error";
}
