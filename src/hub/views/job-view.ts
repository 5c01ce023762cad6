import type { JobDocument } from "../../contract/document.ts";
import { hiddenIn, type RunSpec } from "../../contract/kinds.ts";
import type { JobView } from "../../contract/view-shapes.ts";
import { type Identity, mayReadHidden } from "../../core/identity.ts";
import type { JobRecord } from "../../core/job.ts";
import { toPlain } from "../../core/json-value.ts";
import type { Outputs, StreamSizes } from "../../output/outputs.ts";
import { parseJson } from "../../signing/parse-json.ts";
import type { StoredJob } from "../../store/store.ts";

/** A job as this caller may see it. */
export async function jobView(outputs: Outputs, stored: StoredJob, identity: Identity): Promise<JobView> {
  const { job } = stored;
  const document = toPlain(parseJson(stored.document)) as JobDocument;
  const progress = parsed<{ progress: number; detail: string | null }>(job.progress);
  const run = mayReadHidden(identity, job) ? document.run : withoutHidden(document.run);
  return {
    id: job.id,
    tenant_id: job.tenantId,
    user_id: job.userId,
    type: job.type,
    params: document.params ?? (run as { params?: unknown }).params ?? null,
    run,
    status: job.status,
    priority: job.priority,
    requires: document.requires ?? null,
    limits: document.limits ?? null,
    execution_location: document.execution_location,
    provider: document.provider ?? null,
    model: document.model ?? null,
    timeout_sec: job.timeoutSec,
    max_runtime_ms: job.timeoutSec * 1000,
    idempotency_key: job.idempotencyKey,
    steps: document.steps ?? null,
    metadata: document.metadata ?? null,
    worker_id: job.workerId,
    attempt: job.attempt,
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    result: parsed(job.result),
    result_hash: job.resultHash,
    partial_result: parsed(job.partialResult),
    exit_code: job.exitCode,
    progress: progress?.progress ?? null,
    progress_detail: progress?.detail ?? null,
    created_at: job.createdAt,
    run_at: job.runAt,
    claimed_at: job.claimedAt,
    started_at: job.startedAt,
    heartbeat_at: job.heartbeatAt,
    completed_at: job.completedAt,
    cancel_requested_at: job.cancelRequestedAt,
    execution_time_ms: executionTimeMs(job),
    fail_reason: job.failReason,
    fail_code: job.failCode,
    fail_detail: job.failDetail,
    fail_history: job.failHistory,
    solver_url: document.run.kind === "solver" ? document.run.url : null,
    solver_checksum: document.run.kind === "solver" ? document.run.checksum : null,
    isolation: parsed(job.isolation),
    usage: parsed(job.usage),
    output: await outputSizes(outputs, stored),
    output_files: parsed(job.outputFiles) ?? [],
    document_sha256: job.documentSha256,
  };
}

/** What the hub itself has checked and stored as text. */
function parsed<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}

function withoutHidden(run: RunSpec): JobView["run"] {
  const shown: JobView["run"] = { ...run };
  for (const field of hiddenIn(run)) shown[field] = masked(shown[field]);
  return shown;
}

/** The names in an environment are harmless; its values may not be. */
function masked(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return "***";
  return Object.fromEntries(Object.keys(value).map((name) => [name, "***"]));
}

/** From the start, or from the claim if the attempt ended before it reported its start. */
function executionTimeMs(job: JobRecord): number | null {
  const from = job.startedAt ?? job.claimedAt;
  return from === null || job.completedAt === null ? null : job.completedAt - from;
}

/** How much the latest attempt has written, whether or not it still exists. */
async function outputSizes(outputs: Outputs, { job, droppedOutput }: StoredJob): Promise<StreamSizes> {
  if (job.attempt === 0) return { stdout: 0, stderr: 0 };
  if (droppedOutput !== null && job.attempt <= droppedOutput.throughAttempt) {
    return droppedOutput.sizes[job.attempt] ?? { stdout: 0, stderr: 0 };
  }
  return outputs.sizes({ jobId: job.id, attempt: job.attempt });
}
