import { z } from "zod";
import { roles } from "../core/identity.ts";
import { jobStates } from "../core/job.ts";

const timeOrNull = z.int().nullable();

/** A job as everybody sees it. */
export const jobView = z.object({
  id: z.string(),
  tenant_id: z.string(),
  user_id: z.string(),
  type: z.string(),
  params: z.unknown(),
  run: z.record(z.string(), z.unknown()),
  status: z.enum(jobStates),
  priority: z.int(),
  requires: z.unknown(),
  limits: z.unknown(),
  execution_location: z.string(),
  provider: z.string().nullable(),
  model: z.string().nullable(),
  timeout_sec: z.int(),
  max_runtime_ms: z.int(),
  idempotency_key: z.string(),
  steps: z.unknown(),
  metadata: z.unknown(),
  worker_id: z.string().nullable(),
  attempt: z.int(),
  attempts: z.int(),
  max_attempts: z.int(),
  result: z.unknown(),
  result_hash: z.string().nullable(),
  partial_result: z.unknown(),
  exit_code: z.int().nullable(),
  progress: z.number().nullable(),
  progress_detail: z.string().nullable(),
  created_at: z.int(),
  run_at: z.int(),
  claimed_at: timeOrNull,
  started_at: timeOrNull,
  heartbeat_at: timeOrNull,
  completed_at: timeOrNull,
  cancel_requested_at: timeOrNull,
  execution_time_ms: timeOrNull,
  fail_reason: z.string().nullable(),
  fail_code: z.string().nullable(),
  fail_detail: z.string().nullable(),
  fail_history: z.array(
    z.object({
      reason: z.string(),
      code: z.string(),
      detail: z.string().nullable(),
      worker_id: z.string().nullable(),
      attempt: z.int(),
      ts: z.int(),
    }),
  ),
  solver_url: z.string().nullable(),
  solver_checksum: z.string().nullable(),
  isolation: z.unknown(),
  usage: z.unknown(),
  output: z.object({ stdout: z.int(), stderr: z.int() }),
  output_files: z.unknown(),
  document_sha256: z.string(),
});
export type JobView = z.infer<typeof jobView>;

export const workerView = z.object({
  id: z.string(),
  name: z.string().nullable(),
  location: z.string(),
  cores: z.number(),
  ram_gb: z.number(),
  tags: z.array(z.string()),
  types: z.array(z.string()),
  slots: z.int(),
  capabilities: z.array(z.object({ provider: z.string(), model: z.string() })),
  status: z.enum(["active", "inactive", "draining", "blocked"]),
  registered_at: z.int(),
  last_heartbeat: z.int(),
  current_jobs: z.int(),
  job_counts: z.object({ completed: z.int(), failed: z.int() }),
  metrics: z.array(z.record(z.string(), z.number())),
  version: z.string().nullable(),
});
export type WorkerView = z.infer<typeof workerView>;

export const eventView = z.object({
  seq: z.int(),
  event: z.string(),
  ts: z.int(),
  job_seq: z.int().nullable(),
  severity: z.string(),
  details: z.record(z.string(), z.unknown()),
});
export type EventView = z.infer<typeof eventView>;

/** The data of one live event of a job. */
export const liveEvent = z.object({
  id: z.string(),
  type: z.string(),
  status: z.enum(jobStates),
  worker_id: z.string().nullable(),
  attempt: z.int(),
  priority: z.int(),
  ts: z.int(),
  fail_code: z.string().optional(),
  progress: z.number().optional(),
  detail: z.string().optional(),
});
export type LiveEvent = z.infer<typeof liveEvent>;

export const whyView = z.object({
  status: z.enum(jobStates),
  summary: z.string(),
  position: z.int().nullable(),
  retry_due_at: timeOrNull,
  paused: z.boolean(),
  held_by: z.string().nullable(),
  workers: z.array(z.object({ worker_id: z.string(), fits: z.boolean(), why: z.array(z.string()) })),
});
export type WhyView = z.infer<typeof whyView>;

export const tokenView = z.object({
  id: z.string(),
  role: z.enum(roles),
  tenant_id: z.string().nullable(),
  user_id: z.string(),
  worker_id: z.string().nullable(),
  created_at: z.int(),
  expires_at: timeOrNull,
  revoked_at: timeOrNull,
});

export const identityView = z.object({
  role: z.enum(roles),
  tenant_id: z.string().nullable(),
  user_id: z.string(),
  worker_id: z.string().nullable(),
});

export const keyView = z.object({
  key_id: z.string(),
  public_key: z.string(),
  status: z.string(),
  not_before: z.int(),
  not_after: timeOrNull,
});

const keySignature = z.object({ key_id: z.string(), signature: z.string() });

/** A hub from before there were key sets answers with its keys only. */
export const keysView = z.object({
  version: z.int().optional(),
  keys: z.array(keyView),
  /** Keys and version as one text, signed by every key that may sign. */
  key_set: z.object({ text: z.string(), signatures: z.array(keySignature) }).optional(),
  /** What revoked keys signed last: `{"revoke":"<key id>"}`. */
  revocations: z.array(keySignature).optional(),
});
export type KeysView = z.infer<typeof keysView>;

/** A receipt with all that it takes to check it without the hub. Texts are exactly what was signed. */
export const receiptView = z.object({
  job_id: z.string(),
  attempt: z.int(),
  document: z.string().nullable(),
  signature: z.string().nullable(),
  grant: z.string(),
  grant_signature: z.string(),
  key_id: z.string(),
  worker: z.object({ worker_id: z.string(), public_key: z.string().nullable() }),
  receipt: z.string(),
  signed: z.string(),
  receipt_signature: z.string(),
  result: z.string().nullable(),
  /** False when the result went with its job, and only the receipt is left. Not said by older hubs. */
  result_kept: z.boolean().optional(),
});
export type ReceiptView = z.infer<typeof receiptView>;

export const errorBody = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    details: z.unknown().optional(),
    request_id: z.string(),
  }),
});
