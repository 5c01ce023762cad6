import type { JobStatus, State } from "../../contract/gen/writ/v1/job_service_pb.js";
import { wireStates } from "../../contract/job-wire.ts";
import type { RunFacts } from "../../contract/run-facts.ts";

export const rpcStates = ["QUEUED", "RUNNING", "EXITED", "STOPPED", "FAILED"] as const;
export type RpcState = (typeof rpcStates)[number];

/** A job as gRPC shows it, with the names of the proto file. What does not exist yet is null. */
export type RpcJob = {
  job_id: string;
  user: string;
  tenant: string;
  state: RpcState | "UNKNOWN";
  exit_code: number | null;
  reason: string;
  /** Why it did not succeed, in the codes of the failure table: the class and, if there is one, the detail. */
  fail_code: string | null;
  fail_detail: string | null;
  type: string;
  command: string[];
  limits: { cpu: string; memory: string; io: string; pids: number; network: string } | null;
  worker: string | null;
  isolation: {
    level: string;
    applied: string[];
    missing: { part: string; why: string }[];
    /** Its path on the worker, while the job runs. */
    cgroup: string | null;
  } | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  attempt: number;
  /** How often it was tried since it was submitted or retried by a person, and how often it may be. */
  attempts: number;
  max_attempts: number;
  /** Of a job that is not over: how its last attempt failed, and when the next is due. */
  last_error: string | null;
  retry_at: number | null;
  /** What the last attempt that failed wrote last to stderr. */
  last_line: string | null;
  /** Of a job that was never tried and was submitted for a later time: when it may start. */
  scheduled_at: number | null;
  progress: number | null;
  stdout_bytes: number;
  stderr_bytes: number;
  /** What was written is no longer available: removed to make room, or not restored with the database. */
  output_removed: boolean;
  /** It was stopped and its processes are dead, but its worker still sends what they wrote. */
  output_arriving: boolean;
  usage: { cpu_ms: number; memory_peak_bytes: number; oom: boolean } | null;
  /** How it runs; null if it is too large for a list. What follows is null for kinds that have no such thing. */
  kind: string | null;
  solver_url: string | null;
  solver_checksum: string | null;
  port: number | null;
  container: string | null;
  agent: string | null;
};

export function isOver({ state }: Pick<RpcJob, "state">): boolean {
  return state === "EXITED" || state === "STOPPED" || state === "FAILED";
}

export function rpcJob(status: JobStatus): RpcJob {
  const { limits, isolation, usage } = status;
  return {
    job_id: status.jobId,
    user: status.user,
    tenant: status.tenant,
    state: stateName(status.state),
    exit_code: status.exitCode ?? null,
    reason: status.reason,
    fail_code: status.failCode || null,
    fail_detail: status.failDetail || null,
    type: status.type,
    command: status.command,
    limits: limits === undefined ? null : limitsOf(limits),
    worker: status.worker || null,
    isolation: isolation === undefined || isolation.level === "" ? null : isolationOf(isolation),
    created_at: Number(status.createdAt),
    started_at: Number(status.startedAt) || null,
    ended_at: Number(status.endedAt) || null,
    attempt: status.attempt,
    attempts: status.attempts,
    max_attempts: status.maxAttempts,
    last_error: status.lastError || null,
    retry_at: Number(status.retryAt) || null,
    last_line: status.lastLine || null,
    scheduled_at: Number(status.scheduledAt) || null,
    progress: status.progress ?? null,
    stdout_bytes: Number(status.stdoutBytes),
    stderr_bytes: Number(status.stderrBytes),
    output_removed: status.outputRemoved,
    output_arriving: status.state === wireStates.STOPPED && Number(status.endedAt) === 0,
    usage: usage === undefined ? null : usageOf(usage),
    ...runOf(status),
  };
}

type RunFields = "kind" | "solver_url" | "solver_checksum" | "port" | "container" | "agent";

export function runOf(run: RunFacts): Pick<RpcJob, RunFields> {
  return {
    kind: run.kind || null,
    solver_url: run.solverUrl || null,
    solver_checksum: run.solverChecksum || null,
    port: run.port || null,
    container: run.container || null,
    agent: run.agent || null,
  };
}

/** A newer hub may have states that this version does not know. */
function stateName(state: State): RpcJob["state"] {
  return rpcStates.find((name) => wireStates[name] === state) ?? "UNKNOWN";
}

/** The library's messages contain more than their fields. */
function limitsOf(limits: NonNullable<JobStatus["limits"]>): RpcJob["limits"] {
  const { cpu, memory, io, pids, network } = limits;
  return { cpu, memory, io, pids, network };
}

function isolationOf(isolation: NonNullable<JobStatus["isolation"]>): RpcJob["isolation"] {
  const { level, applied, missing, cgroup } = isolation;
  return {
    level,
    applied: [...applied],
    missing: missing.map(({ part, why }) => ({ part, why })),
    cgroup: cgroup || null,
  };
}

function usageOf({ cpuMs, memoryPeakBytes, oom }: NonNullable<JobStatus["usage"]>): RpcJob["usage"] {
  return { cpu_ms: Number(cpuMs), memory_peak_bytes: Number(memoryPeakBytes), oom };
}
