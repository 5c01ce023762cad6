import type { JobDocument } from "../../contract/document.ts";
import { type DocumentFacts, documentFacts } from "../../contract/document-summary.ts";
import { hiddenIn, type RunSpec } from "../../contract/kinds.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import type { Spent } from "../../core/agents/agent-budget.ts";
import { type AgentUse, shownAgentUse, unusedAgent, withoutAgent } from "../../core/agents/agent-use.ts";
import { type Identity, mayReadHidden } from "../../core/identity.ts";
import { executionTimeMs, shownUsage } from "../../core/jobs/execution-time.ts";
import type { JobRecord } from "../../core/jobs/job.ts";
import { isStopped } from "../../core/jobs/state-names.ts";
import { termsOf } from "../../core/jobs/terms.ts";
import type { ReadableOutputs } from "../../output/outputs.ts";
import type { StoredJob } from "../../store/store.ts";
import { StoredParts } from "./stored-parts.ts";
import { writtenOutput } from "./written-output.ts";

/** A job as this caller may see it. Damaged parts are null or empty, and named in `damaged`. Why: ADR 0029. */
export async function jobView(
  outputs: ReadableOutputs,
  stored: StoredJob,
  identity: Identity,
): Promise<JobView> {
  const { job } = stored;
  const parts = new StoredParts(stored.damaged);
  const facts = parts.read("document", stored.document, (text) =>
    documentFacts(JSON.parse(text) as JobDocument),
  );
  const view = jobFields(job, { facts: facts ?? noFacts, parts }, identity);
  return { ...view, output: await outputView(outputs, stored), ...parts.namesOfDamaged() };
}

/** The facts that are shown for a damaged document. */
export const noFacts: ShownFacts = {
  run: null,
  params: null,
  requires: null,
  limits: null,
  execution_location: null,
  provider: null,
  model: null,
  steps: null,
  metadata: null,
  solver_url: null,
  solver_checksum: null,
};

type ShownFacts = Omit<DocumentFacts, "execution_location"> & {
  execution_location: DocumentFacts["execution_location"] | null;
};

/** All fields except the sizes of its outputs. */
export function jobFields(
  job: JobRecord,
  { facts, parts }: { facts: ShownFacts; parts: StoredParts },
  identity: Identity,
): Omit<JobView, "output" | "damaged"> {
  const progress = parts.json<{ progress: number; detail: string | null }>("progress", job.progress);
  const isShown = facts.run === null || mayReadHidden(identity, job);
  return {
    id: job.id,
    tenant_id: job.tenantId,
    user_id: job.userId,
    type: job.type,
    params: facts.params,
    run: isShown ? facts.run : withoutHidden(facts.run!),
    status: job.status,
    priority: job.priority,
    requires: facts.requires ?? null,
    limits: facts.limits ?? null,
    execution_location: facts.execution_location,
    provider: facts.provider ?? null,
    model: facts.model,
    timeout_sec: job.timeoutSec,
    submitted_timeout_sec: job.documentTimeoutSec,
    max_runtime_ms: job.timeoutSec * 1000,
    idempotency_key: job.idempotencyKey,
    steps: facts.steps,
    metadata: facts.metadata,
    worker_id: job.workerId,
    attempt: job.attempt,
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    ...termsOf(job),
    result: parts.json("result", job.result),
    result_hash: job.resultHash,
    partial_result: parts.json("partial_result", job.partialResult),
    exit_code: parts.read("exit_code", job.exitCode, (code) => code),
    progress: progress?.progress ?? null,
    progress_detail: progress?.detail ?? null,
    created_at: job.createdAt,
    run_at: job.runAt,
    claimed_at: job.claimedAt,
    started_at: job.startedAt,
    heartbeat_at: job.heartbeatAt,
    completed_at: job.completedAt,
    cancel_requested_at: job.cancelRequestedAt,
    held_at: job.heldAt,
    execution_time_ms: executionTimeMs(job),
    fail_reason: job.failReason,
    fail_code: job.failCode,
    fail_detail: job.failDetail,
    fail_history: job.failHistory,
    solver_url: facts.solver_url,
    solver_checksum: facts.solver_checksum,
    isolation: isolationOf(job, parts),
    ...usageOf(job, parts),
    output_files: parts.json("output_files", job.outputFiles) ?? [],
    document_sha256: job.documentSha256,
  };
}

/** The isolation counts while the process runs; a lost worker cannot withdraw what it reported at the start. */
function isolationOf(job: JobRecord, parts: StoredParts): JobView["isolation"] {
  const isolation = parts.json<NonNullable<JobView["isolation"]>>("isolation", job.isolation);
  if (isolation?.cgroup === undefined || job.status === "running") return isolation;
  const { cgroup: _, ...rest } = isolation;
  return rest;
}

/** What the agent tells of itself is no part of what was measured. */
function usageOf(job: JobRecord, parts: StoredParts): Pick<JobView, "usage" | "agent"> {
  type Used = NonNullable<JobView["usage"]> & { agent?: AgentUse; earlier?: Spent };
  const { usage, agent, earlier } = withoutAgent(parts.json<Used>("usage", shownUsage(job.usage)));
  if (earlier === null) return { usage, ...(agent === null ? {} : { agent: shownAgentUse(agent) }) };
  const shown = shownAgentUse(agent ?? unusedAgent);
  return { usage, agent: { ...shown, earlier: { ...earlier, usd: earlier.usd / 1e6 } } };
}

function withoutHidden(run: RunSpec): NonNullable<JobView["run"]> {
  const shown: NonNullable<JobView["run"]> = { ...run };
  for (const field of hiddenIn(run)) shown[field] = masked(shown[field]);
  return shown;
}

/** The names in an environment are harmless; its values may not be. */
function masked(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return "***";
  return Object.fromEntries(Object.keys(value).map((name) => [name, "***"]));
}

/** How much the latest attempt has written, whether or not it still exists. */
async function outputView(outputs: ReadableOutputs, stored: StoredJob): Promise<JobView["output"]> {
  const { sizes, lost } = await writtenOutput(outputs, stored, stored.job.attempt);
  return {
    ...sizes,
    ...(lost.length === 0 ? {} : { removed: true }),
    ...(isStopped(stored.job) ? { arriving: true } : {}),
  };
}
