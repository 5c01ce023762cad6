import type { ShownAgentUse } from "../agents/agent-use.ts";
import { isEnded, isScheduled, type JobState } from "./job.ts";
import { type GrpcState, isStopped } from "./state-names.ts";

/** A job as people and commands see it, with the names of the proto file. What does not exist yet is null. */
export type JobStatus = {
  job_id: string;
  user: string;
  tenant: string;
  state: GrpcState | "UNKNOWN";
  /** 128 + n after signal n, also one of ours; 126 and 127 when the command could not be executed or found. */
  exit_code: number | null;
  /** Why it is in that state, for people; empty if there is nothing to add. */
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
  usage: {
    cpu_ms: number;
    memory_peak_bytes: number;
    oom: boolean;
    /** Of a closed network. */
    network?: { requests: number; denied: number; bytes: number } | undefined;
  } | null;
  /** What its coding agent reported in the latest attempt; nothing of it was checked. */
  agent_use: Omit<ShownAgentUse, "reported_by"> | null;
  /** How it runs; null if it is too large for a list. What follows is null for kinds that have no such thing. */
  kind: string | null;
  solver_url: string | null;
  solver_checksum: string | null;
  port: number | null;
  container: string | null;
  agent: string | null;
};

export function isOver({ state }: Pick<JobStatus, "state">): boolean {
  return state === "EXITED" || state === "STOPPED" || state === "FAILED";
}

/** The record of a job as the HTTP API shows it: alone, or in a list, which has the last failure instead of all. */
export type ShownRecord = Pick<
  JobStatus,
  "type" | "created_at" | "started_at" | "attempt" | "attempts" | "max_attempts" | "progress"
> & {
  id: string;
  user_id: string;
  tenant_id: string;
  status: JobState;
  exit_code: number | null;
  fail_code: string | null;
  fail_detail: string | null;
  fail_reason: string | null;
  fail_history: readonly Failure[] | null;
  last_failure?: Failure | null | undefined;
  cancel_requested_at: number | null;
  completed_at: number | null;
  run_at: number;
  held_at?: number | null | undefined;
  worker_id: string | null;
  run: { kind: string; [field: string]: unknown } | null;
  limits: { cpu?: string; memory?: string; io?: string; pids?: number; network?: string } | null;
  isolation: (Omit<NonNullable<JobStatus["isolation"]>, "cgroup"> & { cgroup?: string }) | null;
  usage: Partial<NonNullable<JobStatus["usage"]>> | null;
  agent?: ShownAgentUse | null | undefined;
  output: { stdout: number; stderr: number; removed?: boolean };
  damaged?: readonly string[];
};

type Failure = { reason: string; last_line?: string };

/** The status of a job. The hub serves it over gRPC; clients of the HTTP API derive it from what they are shown. */
export function statusOf(record: ShownRecord, command: readonly string[]): JobStatus {
  const state = stateOf(record);
  const lastFailure = record.fail_history?.at(-1) ?? record.last_failure ?? undefined;
  return {
    job_id: record.id,
    user: record.user_id,
    tenant: record.tenant_id,
    state,
    exit_code: exitCodeOf(record),
    reason: reasonOf(record, state, lastFailure),
    ...failureOf(record),
    type: record.type,
    command: [...command],
    limits: { cpu: "", memory: "", io: "", pids: 0, network: "", ...record.limits },
    worker: record.worker_id,
    isolation: record.isolation && { ...record.isolation, cgroup: record.isolation.cgroup ?? null },
    created_at: record.created_at,
    started_at: record.started_at,
    ended_at: record.completed_at,
    attempt: record.attempt,
    attempts: record.attempts,
    max_attempts: record.max_attempts,
    ...retryOf(record, lastFailure),
    progress: record.progress,
    stdout_bytes: record.output.stdout,
    stderr_bytes: record.output.stderr,
    output_removed: record.output.removed === true,
    output_arriving: isArriving(record),
    usage: usageOf(record),
    agent_use: agentUseOf(record),
    ...runOf(record),
  };
}

function agentUseOf({ agent }: ShownRecord): JobStatus["agent_use"] {
  if (agent == null) return null;
  const { reported_by: _, ...use } = agent;
  return use;
}

function stateOf(record: ShownRecord): GrpcState {
  const { status, fail_code, fail_detail, exit_code } = record;
  if (isArriving(record)) return "STOPPED";
  if (status === "pending" || status === "assigned") return "QUEUED";
  if (status === "running") return "RUNNING";
  if (status === "completed") return "EXITED";
  if (fail_code === "CANCELLED") return "STOPPED";
  const ranToItsOwnEnd = fail_detail === "WORKER_EXIT_ERROR" && exit_code !== null && exit_code !== 0;
  return ranToItsOwnEnd ? "EXITED" : "FAILED";
}

function isArriving({ status, cancel_requested_at, exit_code }: ShownRecord): boolean {
  return isStopped({ status, cancelRequestedAt: cancel_requested_at, exitCode: exit_code });
}

function exitCodeOf(record: ShownRecord): number | null {
  if (record.status === "completed") return record.exit_code ?? 0;
  return isEnded(record.status) || isArriving(record) ? record.exit_code : null;
}

function reasonOf(record: ShownRecord, state: GrpcState, lastFailure: Failure | undefined): string {
  const { damaged = [] } = record;
  const damage = damaged.length === 0 ? "" : `its stored ${damaged.join(", ")} is damaged`;
  return [endReason(record, state, lastFailure), damage].filter(Boolean).join("; ");
}

function endReason(record: ShownRecord, state: GrpcState, lastFailure: Failure | undefined): string {
  if (state === "STOPPED") return "stopped";
  if (!isEnded(record.status) || record.status === "completed") return "";
  // The last failure has the cause, such as `killed by SIGSEGV`; the fail reason is only its class.
  return lastFailure?.reason ?? record.fail_reason ?? "";
}

function failureOf(record: ShownRecord): Pick<JobStatus, "fail_code" | "fail_detail"> {
  if (isArriving(record)) return { fail_code: "CANCELLED", fail_detail: null };
  const hasFailed = record.status === "failed" || record.status === "quarantined";
  if (!hasFailed) return { fail_code: null, fail_detail: null };
  return { fail_code: record.fail_code, fail_detail: record.fail_detail };
}

type Retry = Pick<JobStatus, "last_error" | "retry_at" | "last_line" | "scheduled_at">;

function retryOf(record: ShownRecord, lastFailure: Failure | undefined): Retry {
  const { status, attempt, run_at, created_at, held_at: heldAt = null } = record;
  const isRetried = !isEnded(status) && lastFailure !== undefined;
  const hasNoFailure = status === "completed" || record.fail_code === "CANCELLED";
  return {
    last_error: isRetried ? lastFailure.reason || null : null,
    retry_at: isRetried && status === "pending" ? run_at : null,
    last_line: hasNoFailure ? null : lastFailure?.last_line || null,
    scheduled_at: isScheduled({ status, attempt, runAt: run_at, heldAt }, created_at) ? run_at : null,
  };
}

/** A worker of a host that does not count something leaves it out. */
function usageOf({ usage }: ShownRecord): JobStatus["usage"] {
  if (usage === null) return null;
  const { cpu_ms = 0, memory_peak_bytes = 0, oom = false, network } = usage;
  return {
    cpu_ms: Math.round(cpu_ms),
    memory_peak_bytes,
    oom,
    ...(network === undefined ? {} : { network }),
  };
}

type RunFields = Pick<JobStatus, "kind" | "solver_url" | "solver_checksum" | "port" | "container" | "agent">;

function runOf({ run }: ShownRecord): RunFields {
  const text = (field: string): string | null => {
    const value = run?.[field];
    return typeof value === "string" ? value : null;
  };
  return {
    kind: run?.kind ?? null,
    solver_url: text("url"),
    solver_checksum: text("checksum"),
    port: typeof run?.["port"] === "number" ? run["port"] : null,
    container: text("container"),
    agent: text("agent"),
  };
}
