import {
  isActive,
  isEnded,
  isScheduled,
  type JobRecord,
  type JobState,
  type ListedState,
  stateBehind,
} from "./job.ts";

/** The names of states in the other interfaces. No other code translates them. */

export type GrpcState = "QUEUED" | "RUNNING" | "EXITED" | "STOPPED" | "FAILED";

type Ended = Pick<JobRecord, "status" | "failCode" | "failDetail" | "exitCode" | "cancelRequestedAt">;

/**
 * The states that a job with this gRPC state can be in; not every job in those states has it. A stopped job whose output
 * is still being sent is found by none: it is so for a moment, and its failure code is not written yet.
 */
export const statesBehind = {
  QUEUED: ["pending", "assigned"],
  RUNNING: ["running"],
  EXITED: ["completed", "failed", "quarantined"],
  STOPPED: ["failed"],
  FAILED: ["failed", "quarantined"],
} as const satisfies Record<GrpcState, readonly JobState[]>;

/**
 * The jobs with this gRPC state, or all, as a filter by states and a failure code. If it is not exact, it fits others too,
 * which have to be told apart one by one.
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

export function grpcState(job: Ended): GrpcState {
  if (isStopped(job)) return "STOPPED";
  if (job.status === "pending" || job.status === "assigned") return "QUEUED";
  if (job.status === "running") return "RUNNING";
  if (job.status === "completed") return "EXITED";
  if (job.failCode === "CANCELLED") return "STOPPED";
  return ranToItsOwnEnd(job) ? "EXITED" : "FAILED";
}

/**
 * Whether the processes of a cancelled job are dead while its output is still being sent. It ends when that has arrived.
 */
export function isStopped({
  status,
  cancelRequestedAt,
  exitCode,
}: Pick<Ended, "status" | "cancelRequestedAt" | "exitCode">): boolean {
  return isActive(status) && cancelRequestedAt !== null && exitCode !== null;
}

export type RegistryState = "pending" | "running" | "completed" | "error" | "cancelled";

/** The state in the registry's words, which messages about jobs use too. */
export function registryState({ status, failCode }: Pick<JobRecord, "status" | "failCode">): RegistryState {
  if (status === "pending" || status === "running" || status === "completed") return status;
  if (status === "assigned") return "running";
  return failCode === "CANCELLED" ? "cancelled" : "error";
}

/** Why it is in that state, for people; empty if there is nothing to add. */
export function grpcReason(job: Ended & Pick<JobRecord, "failHistory" | "failReason">): string {
  const state = grpcState(job);
  if (state === "STOPPED") return "stopped";
  if (state !== "FAILED" && state !== "EXITED") return "";
  if (job.status === "completed") return "";
  // The last entry has the cause, such as `killed by SIGSEGV`; the fail reason is only its class.
  return job.failHistory.at(-1)?.reason ?? job.failReason ?? "";
}

/** The same for programs, in the codes of the failure table; empty unless the job ended without success. */
export function grpcFailure(job: Ended): { failCode: string; failDetail: string } {
  if (isStopped(job)) return { failCode: "CANCELLED", failDetail: "" };
  const hasFailed = job.status === "failed" || job.status === "quarantined";
  if (!hasFailed) return { failCode: "", failDetail: "" };
  return { failCode: job.failCode ?? "", failDetail: job.failDetail ?? "" };
}

/** What the last attempt that failed wrote last to stderr; empty if it wrote nothing, or if nothing has failed. */
export function grpcLastLine(job: Pick<JobRecord, "status" | "failCode" | "failHistory">): string {
  if (job.status === "completed" || job.failCode === "CANCELLED") return "";
  return job.failHistory.at(-1)?.last_line ?? "";
}

/** How often it was tried, and if it is not over, how that went and when the next attempt is due. */
export function grpcRetry(
  job: Pick<JobRecord, "status" | "attempts" | "maxAttempts" | "failHistory" | "runAt">,
): { attempts: number; maxAttempts: number; lastError: string; retryAt: bigint } {
  const { status, attempts, maxAttempts } = job;
  const last = isEnded(status) ? undefined : job.failHistory.at(-1);
  const retryAt = last === undefined || status !== "pending" ? 0n : BigInt(job.runAt);
  return { attempts, maxAttempts, lastError: last?.reason ?? "", retryAt };
}

/** When a job that was never tried may start, in milliseconds since the epoch; 0 if it was not submitted for later. */
export function grpcScheduledAt(job: Pick<JobRecord, "status" | "attempt" | "createdAt" | "runAt">): bigint {
  return isScheduled(job, job.createdAt) ? BigInt(job.runAt) : 0n;
}

/** The exit code once there is one: 128 + n after signal n, also one of ours, 126 and 127 when it could not be executed or found. */
export function grpcExitCode(job: Ended): number | undefined {
  if (job.status === "completed") return job.exitCode ?? 0;
  return isEnded(job.status) || isStopped(job) ? (job.exitCode ?? undefined) : undefined;
}

function ranToItsOwnEnd(job: Ended): boolean {
  return job.failDetail === "WORKER_EXIT_ERROR" && job.exitCode !== null && job.exitCode !== 0;
}
