import type { jobStatus } from "../../contract/gen/writ/v1/job_service.ts";
import type { JobStatus } from "../../core/jobs/job-status.ts";
import type { MessageOf } from "../../runtime/grpc/wire-message.ts";

/** A job as the hub sent it. Protobuf sends no empty values: where a status can have none, they mean that. */
export function readStatus(status: MessageOf<typeof jobStatus>): JobStatus {
  const { state, isolation } = status;
  return {
    ...status,
    // A newer hub may have states that this version does not know.
    state: typeof state === "number" ? "UNKNOWN" : state,
    exit_code: status.exit_code ?? null,
    fail_code: status.fail_code || null,
    fail_detail: status.fail_detail || null,
    limits: status.limits ?? null,
    worker: status.worker || null,
    isolation: isolation?.level ? { ...isolation, cgroup: isolation.cgroup || null } : null,
    started_at: status.started_at || null,
    ended_at: status.ended_at || null,
    last_error: status.last_error || null,
    retry_at: status.retry_at || null,
    last_line: status.last_line || null,
    scheduled_at: status.scheduled_at || null,
    progress: status.progress ?? null,
    output_arriving: state === "STOPPED" && status.ended_at === 0,
    usage: status.usage ?? null,
    agent_use: agentUseOf(status.agent_use),
    kind: status.kind || null,
    solver_url: status.solver_url || null,
    solver_checksum: status.solver_checksum || null,
    port: status.port || null,
    container: status.container || null,
    agent: status.agent || null,
  };
}

function agentUseOf(use: MessageOf<typeof jobStatus>["agent_use"]): JobStatus["agent_use"] {
  if (use === undefined) return null;
  const { session_id, model, cost_usd, ...counts } = use;
  return {
    ...counts,
    ...(cost_usd === undefined ? {} : { cost_usd }),
    ...(session_id === "" ? {} : { session_id }),
    ...(model === "" ? {} : { model }),
  };
}
