import { create } from "@bufbuild/protobuf";
import {
  JobStatusSchema,
  State,
  type JobStatus as WireStatus,
} from "../../contract/gen/writ/v1/job_service_pb.js";
import type { JobStatus } from "../../core/jobs/job-status.ts";

/** A status as a message. Protobuf has no null: there it is the empty value. */
export function statusMessage(status: JobStatus): WireStatus {
  const { isolation, usage } = status;
  return create(JobStatusSchema, {
    jobId: status.job_id,
    user: status.user,
    state: State[status.state],
    exitCode: status.exit_code ?? undefined,
    reason: status.reason,
    tenant: status.tenant,
    type: status.type,
    command: status.command,
    limits: status.limits ?? undefined,
    worker: status.worker ?? "",
    isolation: isolation === null ? undefined : { ...isolation, cgroup: isolation.cgroup ?? "" },
    createdAt: BigInt(status.created_at),
    startedAt: BigInt(status.started_at ?? 0),
    endedAt: BigInt(status.ended_at ?? 0),
    attempt: status.attempt,
    progress: status.progress ?? undefined,
    stdoutBytes: BigInt(status.stdout_bytes),
    stderrBytes: BigInt(status.stderr_bytes),
    usage:
      usage === null
        ? undefined
        : { cpuMs: BigInt(usage.cpu_ms), memoryPeakBytes: BigInt(usage.memory_peak_bytes), oom: usage.oom },
    failCode: status.fail_code ?? "",
    failDetail: status.fail_detail ?? "",
    attempts: status.attempts,
    maxAttempts: status.max_attempts,
    lastError: status.last_error ?? "",
    retryAt: BigInt(status.retry_at ?? 0),
    outputRemoved: status.output_removed,
    kind: status.kind ?? "",
    solverUrl: status.solver_url ?? "",
    solverChecksum: status.solver_checksum ?? "",
    port: status.port ?? 0,
    container: status.container ?? "",
    agent: status.agent ?? "",
    scheduledAt: BigInt(status.scheduled_at ?? 0),
    lastLine: status.last_line ?? "",
  });
}
