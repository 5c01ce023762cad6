import { commandOf } from "../../contract/kinds.ts";
import { runFacts } from "../../contract/run-facts.ts";
import type { JobSummary, JobView } from "../../contract/shapes/view-shapes.ts";
import type { JobRecord } from "../../core/jobs/job.ts";
import {
  grpcExitCode,
  grpcFailure,
  grpcLastLine,
  grpcReason,
  grpcRetry,
  grpcScheduledAt,
  grpcState,
  isStopped,
} from "../../core/jobs/state-names.ts";
import { type RpcJob, runOf } from "./rpc-job.ts";

/** A job of the HTTP API as gRPC shows it, so that its reader need not know which of the two was asked. */
export function jobOfView(view: JobView | JobSummary): RpcJob {
  const record = {
    status: view.status,
    failCode: view.fail_code as JobRecord["failCode"],
    failDetail: view.fail_detail,
    failReason: view.fail_reason,
    failHistory: failuresOf(view) as JobRecord["failHistory"],
    exitCode: view.exit_code,
    cancelRequestedAt: view.cancel_requested_at,
    attempts: view.attempts,
    maxAttempts: view.max_attempts,
    runAt: view.run_at,
    attempt: view.attempt,
    createdAt: view.created_at,
  };
  const { lastError, retryAt } = grpcRetry(record);
  const { failCode, failDetail } = grpcFailure(record);
  return {
    job_id: view.id,
    user: view.user_id,
    tenant: view.tenant_id,
    state: grpcState(record),
    exit_code: grpcExitCode(record) ?? null,
    reason: grpcReason(record),
    fail_code: failCode || null,
    fail_detail: failDetail || null,
    type: view.type,
    command: [...wordsOf(view)],
    limits: limitsOf(view),
    worker: view.worker_id,
    isolation: view.isolation && { ...view.isolation, cgroup: view.isolation.cgroup ?? null },
    created_at: view.created_at,
    started_at: view.started_at,
    ended_at: view.completed_at,
    attempt: view.attempt,
    attempts: view.attempts,
    max_attempts: view.max_attempts,
    last_error: lastError || null,
    last_line: grpcLastLine(record) || null,
    retry_at: Number(retryAt) || null,
    scheduled_at: Number(grpcScheduledAt(record)) || null,
    progress: view.progress,
    stdout_bytes: view.output.stdout,
    stderr_bytes: view.output.stderr,
    output_removed: view.output.removed === true,
    output_arriving: isStopped(record),
    usage: usageOf(view),
    ...runOf(runFacts(view.run)),
  };
}

/** A list carries the last failure and the first words of a command; one job, and a list of an older hub, all of both. */
function failuresOf(view: JobView | JobSummary): unknown[] {
  if (view.fail_history !== null) return view.fail_history;
  return "last_failure" in view && view.last_failure ? [view.last_failure] : [];
}

function wordsOf(view: JobView | JobSummary): readonly string[] {
  if ("command" in view && view.command !== undefined) return view.command ?? [];
  return (view.run && commandOf(view.run)) ?? [];
}

/** gRPC sends an empty text or a zero for a limit that was not set. */
function limitsOf({ limits }: Pick<JobView, "limits">): RpcJob["limits"] {
  const { cpu = "", memory = "", io = "", pids = 0, network = "" } = limits ?? {};
  return { cpu, memory, io, pids, network };
}

function usageOf({ usage }: Pick<JobView, "usage">): RpcJob["usage"] {
  if (usage === null) return null;
  const { cpu_ms = 0, memory_peak_bytes = 0, oom = false } = usage;
  return { cpu_ms: Math.round(cpu_ms ?? 0), memory_peak_bytes: memory_peak_bytes ?? 0, oom };
}
