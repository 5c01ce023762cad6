import { z } from "zod";
import { executionLocations, providers } from "../../core/jobs/document.ts";
import { claimDetails } from "../../core/jobs/failure.ts";
import { jobStates } from "../../core/jobs/job.ts";
import {
  containerName,
  decimal,
  integer,
  jobId,
  jobType,
  keyId,
  kindName,
  leaseToken,
  sha256Text,
  tag,
  text,
  workerId,
} from "./fields.ts";
import { fence, missingParts, usage } from "./report-shapes.ts";

export const claimJobsMax = 256;
export const claimWaitMsMax = 60_000;

/*
 * What a worker registers and reports about itself may come from a newer version: a hub that does not know a field
 * could not use it, so in these shapes an unknown field is ignored. Why: ADR 0078, ADR 0095.
 */

export const capability = z.object({
  provider: z.enum(providers),
  model: text(1, 200),
});

/** One process of a worker: chosen at random when it starts. */
export const bootId = text(1, 100);

export const hostLevels = ["strict", "best-effort", "none"] as const;
const hostIsolation = z.object({ level: z.enum(hostLevels), missing: missingParts });

export const workerRegistration = z.object({
  worker_id: workerId,
  name: text(1, 200).optional(),
  location: z.enum(executionLocations).optional(),
  cores: integer(1, 4096),
  ram_gb: decimal(0, 1_048_576),
  tags: z.array(tag).max(100).default([]),
  types: z.array(jobType).max(1000).optional(),
  handler_types: z.array(jobType).max(1000).optional(),
  slots: integer(0, 10_000).optional(),
  kinds: z.array(kindName).max(100).optional(),
  sessions: z.array(text(1, 100)).max(1000).optional(),
  /** Workers of version 0.1 register a single session here. */
  session: text(1, 100).optional(),
  containers: z.array(containerName).max(1000).optional(),
  document_format: integer(1, 1000).optional(),
  /** The process that registered last holds the worker's name. The leases of a claim are bound to the one that it names. */
  boot_id: bootId.optional(),
  /** Why it cannot run processes at present. It then names no kinds that need one. */
  sandbox_problem: text(1, 500).optional(),
  /** Coding agents in its settings that it cannot run: it is given no job that names one of them. */
  agent_problems: z
    .array(z.object({ agent: text(1, 100), why: text(1, 500) }))
    .max(100)
    .optional(),
  /** How it isolates processes, and which parts of a cage its host lacks. */
  isolation: hostIsolation.optional(),
  capabilities: z.array(capability).max(1000).optional(),
  key_ids: z.array(keyId).max(16).optional(),
  public_key: text(1, 1000).optional(),
  version: text(1, 50).optional(),
});

export const workerHeartbeat = z.object({
  worker_id: workerId,
  boot_id: bootId.optional(),
  status: z.enum(["active", "draining"]).optional(),
  current_jobs: z
    .array(
      z.object({
        job_id: jobId,
        attempt: fence.attempt.unwrap(),
        token: leaseToken,
        usage: usage.optional().meta({ description: "What the attempt has used so far" }),
      }),
    )
    .max(10_000),
  capabilities: z.array(capability).max(1000).optional(),
});

export const heartbeatAnswer = z.object({
  cancel: z.array(jobId),
  lost: z.array(jobId),
  drain: z.boolean(),
  lease_ms: z.int(),
});

export const workerMetrics = z.object({
  ts: integer(0, Number.MAX_SAFE_INTEGER),
  cpu_percent: decimal(0, 1_000_000),
  load1: decimal(0, 1_000_000),
  mem_used_bytes: integer(0, Number.MAX_SAFE_INTEGER),
  mem_total_bytes: integer(0, Number.MAX_SAFE_INTEGER),
  disk_free_bytes: integer(0, Number.MAX_SAFE_INTEGER),
  slots_used: integer(0, 1_000_000),
  slots: integer(0, 1_000_000),
  /** Ed25519 verifications since the worker's start. */
  signatures_verified: integer(0, Number.MAX_SAFE_INTEGER).optional(),
});

/** A claim that the worker could not verify. The hashes are of what it received. */
export const refusedClaim = z.object({
  detail: z.enum(claimDetails).meta({ description: "What is wrong with it" }),
  reason: text(1, 500),
  jobs: z
    .array(
      z.object({
        job_id: jobId,
        attempt: fence.attempt.unwrap(),
        token: leaseToken,
        document_sha256: sha256Text.optional(),
        lease_sha256: sha256Text.optional(),
      }),
    )
    .max(claimJobsMax)
    .meta({ description: "Its jobs, as far as their leases can be read" }),
  unreadable: integer(0, claimJobsMax).optional().meta({ description: "How many leases could not be read" }),
  key_id: text(0, 100).optional().meta({ description: "The key that the claim names" }),
  signature: text(0, 200).optional().meta({ description: "The signature that it came with" }),
});

export const refusedClaimAnswer = z.object({
  returned: z.int().meta({ description: "How many of the jobs are pending again" }),
  paused_until: z.int().meta({ description: "Until then the worker is given no jobs" }),
});

const claimFields = {
  worker_id: workerId,
  types: z.array(jobType).max(1000).optional(),
  session: text(1, 100).optional(),
  wait_ms: integer(0, claimWaitMsMax).optional(),
  boot_id: bootId.optional(),
};

export const claimRequest = z.strictObject(claimFields);
export const claimBatchRequest = z.strictObject({
  ...claimFields,
  max: integer(1, claimJobsMax).default(1),
  batch_lease: z.boolean().optional().meta({
    description:
      "True: one lease for all jobs, in the second form of the answer; for hubs that name `batch-lease`",
  }),
});

const claimedJob = {
  id: jobId,
  document: z.string().meta({ description: "The document: exactly the bytes that were signed" }),
  lease: z.string().meta({ description: "The lease: exactly the bytes that were signed" }),
  job_token: z.string().optional().meta({
    description: "A token for the attempt itself; only for a job with an output_location or inputs",
  }),
};

/** While two keys are in use a claim carries the signatures of both. */
const signatures = z
  .array(z.object({ key_id: keyId, signature: z.string(), lease_signature: z.string().optional() }))
  .optional();

/** What a worker is given besides if it registered neither kinds nor handler types. */
const plainFields = z
  .object({
    params: z.unknown(),
    priority: z.int(),
    max_runtime_ms: z.int(),
    attempts: z.int(),
    max_attempts: z.int(),
    created_at: z.int(),
    solver_url: z.string(),
    solver_checksum: z.string(),
  })
  .partial();

/** The unsigned fields repeat the two signed texts, for workers and scripts that verify nothing. */
export const claimedJobBody = z.object({
  ...claimedJob,
  ...plainFields.shape,
  type: z.string(),
  status: z.enum(jobStates),
  attempt: z.int(),
  token: z.string(),
  timeout_sec: z.int(),
  signature: z.string(),
  lease_signature: z.string(),
  key_id: keyId,
  signatures,
});

export const claimedBatch = z.object({
  jobs: z.array(z.object(claimedJob)),
  batch: z.object({ key_id: keyId, signature: z.string(), signatures }),
});

const timeTs = integer(0, Number.MAX_SAFE_INTEGER);

/** What comes before the jobs of a claim with one lease. A signature that is not a string is refused later, as one that does not verify. */
export const leasedBatchHead = z.object({
  lease: z.object({ boot_id: bootId.optional(), issued_at_ts: timeTs, expires_at_ts: timeTs }),
  secret: z
    .string()
    .meta({ description: "The token of an attempt is SHA-256(secret, job_id, attempt), in base64url" }),
  batch: z.object({ key_id: keyId, signature: z.string(), signatures }),
  lengths: z.array(z.int()).meta({ description: "How many characters each document has" }),
});

export const leasedBatch = leasedBatchHead.extend({
  jobs: z.array(
    z.tuple([
      integer(1, Number.MAX_SAFE_INTEGER).meta({ description: "The attempt" }),
      integer(0, Number.MAX_SAFE_INTEGER).meta({ description: "timeout_sec" }),
      z.array(z.string()).nullable().meta({ description: "The limits that are only the hub's defaults" }),
      z.string().nullable().meta({ description: "The job token" }),
      z.unknown().meta({ description: "The document; its text here has exactly the bytes that were signed" }),
    ]),
  ),
});

export type ClaimedJobBody = z.infer<typeof claimedJobBody>;
export type ClaimedBatch = z.infer<typeof claimedBatch>;
