import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type JobStatus, JobStatusSchema, State } from "../../contract/gen/writ/v1/job_service_pb.js";
import { commandOf, type RunSpec } from "../../contract/kinds.ts";
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
} from "../../core/jobs/state-names.ts";
import type { ListedJob } from "../../store/jobs/job-list.ts";
import type { StoredJob } from "../../store/store.ts";
import { summarizeJobs } from "../use-cases/jobs/list-jobs.ts";
import { showJob } from "../use-cases/jobs/show-job.ts";
import type { RpcCall } from "./call.ts";

type View = JobView | JobSummary;
type StatusFields = MessageInitShape<typeof JobStatusSchema>;

/** A job as gRPC shows it, derived from the HTTP view, so that both hide the same. */
export async function jobStatus(
  { deps, identity }: Pick<RpcCall, "deps" | "identity">,
  stored: StoredJob,
): Promise<JobStatus> {
  const view = await showJob(deps, stored, identity);
  return statusMessage(stored.job, view, view.run === null ? null : commandOf(view.run as RunSpec));
}

/** The same for jobs in a list, where long commands are cut. */
export async function listedStatuses(
  { deps, identity }: Pick<RpcCall, "deps" | "identity">,
  jobs: ListedJob[],
): Promise<JobStatus[]> {
  const views = await summarizeJobs(deps, jobs, identity);
  return views.map((view, index) => statusMessage(jobs[index]!.job, view, view.command ?? null));
}

function statusMessage(job: JobRecord, view: View, command: readonly string[] | null): JobStatus {
  return create(JobStatusSchema, {
    jobId: job.id,
    user: job.userId,
    state: State[grpcState(job)],
    exitCode: grpcExitCode(job),
    reason: reasonOf(job, view),
    tenant: job.tenantId,
    type: job.type,
    command: [...(command ?? [])],
    limits: limitsOf(view),
    worker: job.workerId ?? "",
    isolation: isolationOf(view),
    createdAt: BigInt(job.createdAt),
    startedAt: BigInt(job.startedAt ?? 0),
    endedAt: BigInt(job.completedAt ?? 0),
    attempt: job.attempt,
    progress: view.progress ?? undefined,
    stdoutBytes: BigInt(view.output.stdout),
    stderrBytes: BigInt(view.output.stderr),
    usage: usageOf(view),
    outputRemoved: view.output.removed === true,
    ...runFacts(view.run),
    ...grpcFailure(job),
    ...grpcRetry(job),
    scheduledAt: grpcScheduledAt(job),
    lastLine: grpcLastLine(job),
  });
}

function reasonOf(job: JobRecord, { damaged = [] }: View): string {
  if (damaged.length === 0) return grpcReason(job);
  return [grpcReason(job), `its stored ${damaged.join(", ")} is damaged`].filter(Boolean).join("; ");
}

function limitsOf({ limits }: View): StatusFields["limits"] {
  const { cpu, memory, io, pids, network } = (limits ?? {}) as Record<string, string | number | undefined>;
  return {
    cpu: String(cpu ?? ""),
    memory: String(memory ?? ""),
    io: String(io ?? ""),
    pids: Number(pids ?? 0),
    network: String(network ?? ""),
  };
}

/** Comes from a worker: whatever is not as expected is left out. */
function isolationOf({ isolation }: View): StatusFields["isolation"] {
  if (isolation === null || typeof isolation !== "object") return undefined;
  const { level, applied, missing, cgroup } = isolation as Record<string, unknown>;
  return {
    level: typeof level === "string" ? level : "",
    applied: listOf(applied).filter((part) => typeof part === "string"),
    missing: listOf(missing).map((entry) => {
      const { part, why } = (entry ?? {}) as Record<string, unknown>;
      return { part: String(part ?? entry), why: String(why ?? "") };
    }),
    cgroup: typeof cgroup === "string" ? cgroup : "",
  };
}

function usageOf({ usage }: View): StatusFields["usage"] {
  if (usage === null || typeof usage !== "object") return undefined;
  const { cpu_ms, memory_peak_bytes, oom } = usage as Record<string, unknown>;
  return { cpuMs: count(cpu_ms), memoryPeakBytes: count(memory_peak_bytes), oom: oom === true };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function count(value: unknown): bigint {
  return typeof value === "number" && value >= 0 && Number.isFinite(value) ? BigInt(Math.round(value)) : 0n;
}
