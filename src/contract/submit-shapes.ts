import { z } from "zod";
import { executionLocations, providers, type RunKind, timeoutSecMax } from "../core/document.ts";
import { jobStates } from "../core/job.ts";
import { storageMethods, storagePolicyCharsMax, storageRightsMax } from "../core/storage-policy.ts";
import {
  absolutePath,
  anyJson,
  folderId,
  integer,
  jobId,
  jobType,
  relativePath,
  sha256Text,
  storagePrefix,
  text,
  timeMs,
} from "./fields.ts";
import { limits, requires, runSpec } from "./run-shapes.ts";

const dayMs = 86_400_000;

export const outputLocation = z.strictObject({
  folder_id: folderId,
  prefix: storagePrefix.refine((prefix) => prefix !== "", "must not be empty: leave it out").optional(),
});

export const storageAccessPolicy = z
  .array(z.strictObject({ folderId, prefix: storagePrefix, method: z.enum(storageMethods) }))
  .min(1, "must name a right; leave it out for PUT on output_location")
  .max(storageRightsMax)
  .refine(
    (rights) =>
      rights.reduce((chars, right) => chars + right.folderId.length + right.prefix.length, 0) <=
      storagePolicyCharsMax,
    `must have at most ${storagePolicyCharsMax} characters in all its folders and prefixes`,
  );

/** What a producer sends. What it leaves out, the hub fills in; what it may not decide is not here. */
export const jobSubmission = z
  .strictObject({
    type: jobType,
    params: anyJson.optional(),
    run: runSpec.optional(),
    priority: integer(1, 10).optional(),
    max_attempts: integer(1, 100).optional(),
    timeout_sec: integer(0, timeoutSecMax.exec).optional(),
    max_runtime_ms: integer(1, timeoutSecMax.exec * 1000).optional(),
    solver_url: text(1, 4096).optional(),
    solver_checksum: sha256Text.optional(),
    requires: requires.optional(),
    limits: limits.optional(),
    idempotency_key: text(1, 200).optional(),
    run_at: timeMs.optional(),
    queue_ttl_sec: integer(1, (365 * dayMs) / 1000).optional(),
    steps: z.array(anyJson).max(1000).optional(),
    metadata: z.record(z.string(), anyJson).optional(),
    output_location: outputLocation.optional(),
    storage_access_policy: storageAccessPolicy.optional(),
    provider: z.enum(providers).optional(),
    model: text(1, 200).optional(),
    execution_location: z.enum(executionLocations).optional(),
    repo_root: absolutePath.optional(),
    allowed_paths: z.array(relativePath).max(1000).optional(),
    job_id: jobId.optional(),
  })
  .superRefine((job, context) => {
    for (const { path, message } of contradictions(job))
      context.addIssue({ code: "custom", path: [path], message });
  });

export type JobSubmission = z.infer<typeof jobSubmission>;

export const batchJobsMax = 1000;
export const jobBatch = z.strictObject({ jobs: z.array(jobSubmission).min(1).max(batchJobsMax) });

export const accepted = z.object({ id: jobId, status: z.enum(jobStates) });

/** Which runner a submission is for: by its `run`, else a solver when it names one, else a handler. */
export function kindOf(job: { run?: { kind: RunKind }; solver_url?: string }): RunKind {
  return job.run?.kind ?? (job.solver_url === undefined ? "handler" : "solver");
}

type Problem = { path: string; message: string };

/** What no single field can see: fields that exclude, need or bound one another. */
function contradictions(job: SubmissionFields): Problem[] {
  return [...timeProblems(job), ...runProblems(job), ...delegateProblems(job), ...storageProblems(job)];
}

type SubmissionFields = {
  run?: z.infer<typeof runSpec>;
  params?: unknown;
  timeout_sec?: number;
  max_runtime_ms?: number;
  solver_url?: string;
  solver_checksum?: string;
  provider?: string;
  model?: string;
  repo_root?: string;
  allowed_paths?: string[];
  output_location?: unknown;
  storage_access_policy?: unknown;
};

function timeProblems(job: SubmissionFields): Problem[] {
  if (job.timeout_sec !== undefined && job.max_runtime_ms !== undefined) {
    return [{ path: "max_runtime_ms", message: "give timeout_sec or max_runtime_ms, not both" }];
  }
  if (kindOf(job) === "exec") return [];
  const allowed = `must be from 1 to ${timeoutSecMax.other} s; only exec jobs may run longer or without a limit`;
  if (job.timeout_sec === 0 || (job.timeout_sec ?? 1) > timeoutSecMax.other) {
    return [{ path: "timeout_sec", message: allowed }];
  }
  return (job.max_runtime_ms ?? 1) > timeoutSecMax.other * 1000
    ? [{ path: "max_runtime_ms", message: allowed }]
    : [];
}

function runProblems(job: SubmissionFields): Problem[] {
  const problems: Problem[] = [];
  if (job.run !== undefined && job.solver_url !== undefined) {
    problems.push({ path: "solver_url", message: "give run or solver_url, not both" });
  }
  if (job.solver_url !== undefined && job.solver_checksum === undefined) {
    problems.push({ path: "solver_checksum", message: "is required with solver_url" });
  }
  if (job.solver_url === undefined && job.solver_checksum !== undefined) {
    problems.push({ path: "solver_checksum", message: "needs a solver_url" });
  }
  if (
    job.run !== undefined &&
    "params" in job.run &&
    job.run.params !== undefined &&
    job.params !== undefined
  ) {
    problems.push({ path: "params", message: "give params or run.params, not both" });
  }
  return problems;
}

function delegateProblems(job: SubmissionFields): Problem[] {
  const only = "belongs to delegate jobs only";
  if (kindOf(job) === "delegate") {
    return (["provider", "model"] as const)
      .filter((field) => job[field] === undefined)
      .map((field) => ({ path: field, message: "is required for delegate jobs" }));
  }
  return (["provider", "model", "repo_root", "allowed_paths"] as const)
    .filter((field) => job[field] !== undefined)
    .map((field) => ({ path: field, message: only }));
}

/** Without an output location there is no job token, and so nobody to whom the policy would grant anything. */
function storageProblems(job: SubmissionFields): Problem[] {
  return job.storage_access_policy !== undefined && job.output_location === undefined
    ? [{ path: "storage_access_policy", message: "needs an output_location" }]
    : [];
}
