import type { JobStatus as WireStatus } from "../../contract/gen/writ/v1/job_service_pb.js";
import { wireStates } from "../../contract/job-wire.ts";
import type { JobStatus } from "../../core/jobs/job-status.ts";
import { grpcStates } from "../../core/jobs/state-names.ts";

/** A job as the hub sent it. Protobuf sends no empty values: most of them mean that there is none. */
export function readStatus(status: WireStatus): JobStatus {
  const { limits, isolation, usage } = status;
  return {
    job_id: status.jobId,
    user: status.user,
    tenant: status.tenant,
    // A newer hub may have states that this version does not know.
    state: grpcStates.find((name) => wireStates[name] === status.state) ?? "UNKNOWN",
    exit_code: status.exitCode ?? null,
    reason: status.reason,
    fail_code: status.failCode || null,
    fail_detail: status.failDetail || null,
    type: status.type,
    command: status.command,
    limits: limits ?? null,
    worker: status.worker || null,
    isolation: isolation?.level ? { ...isolation, cgroup: isolation.cgroup || null } : null,
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
    usage: usage
      ? { cpu_ms: Number(usage.cpuMs), memory_peak_bytes: Number(usage.memoryPeakBytes), oom: usage.oom }
      : null,
    kind: status.kind || null,
    solver_url: status.solverUrl || null,
    solver_checksum: status.solverChecksum || null,
    port: status.port || null,
    container: status.container || null,
    agent: status.agent || null,
  };
}
