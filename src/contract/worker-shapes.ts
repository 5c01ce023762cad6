import { z } from "zod";
import { executionLocations, providers } from "../core/document.ts";
import { failureCodes } from "../core/failure.ts";
import { jobStates } from "../core/job.ts";
import { smallOutputBytesMax } from "../core/small-output.ts";
import {
  anyJson,
  containerName,
  decimal,
  folderId,
  integer,
  jobId,
  jobType,
  keyId,
  kindName,
  leaseToken,
  objectKey,
  sha256Text,
  tag,
  text,
  workerId,
} from "./fields.ts";

export const claimJobsMax = 256;
export const claimWaitMsMax = 60_000;

export const capability = z.strictObject({
  provider: z.enum(providers),
  model: text(1, 200),
});

/** One process of a worker: chosen at random when it starts. */
export const bootId = text(1, 100);

const missingParts = z.array(z.strictObject({ part: text(1, 100), why: text(0, 500) })).max(100);
export const hostLevels = ["strict", "best-effort", "none"] as const;
const hostIsolation = z.strictObject({ level: z.enum(hostLevels), missing: missingParts });

export const workerRegistration = z.strictObject({
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
  /** The leases of a claim are bound to the one that the claim names. */
  boot_id: bootId.optional(),
  /** Why it cannot run processes at present. It then names no kinds that need one. */
  sandbox_problem: text(1, 500).optional(),
  /** How it isolates processes, and which parts of a cage its host lacks. */
  isolation: hostIsolation.optional(),
  capabilities: z.array(capability).max(1000).optional(),
  key_ids: z.array(keyId).max(16).optional(),
  public_key: text(1, 1000).optional(),
  version: text(1, 50).optional(),
});

/** Which attempt a call is about. A worker's token must send all three fields; an administrator may leave two out. */
const fence = {
  worker_id: workerId,
  attempt: integer(1, Number.MAX_SAFE_INTEGER).optional(),
  token: leaseToken.optional(),
};

const used = integer(0, Number.MAX_SAFE_INTEGER).optional();
const usage = z.strictObject({
  cpu_ms: used,
  memory_bytes: used,
  memory_peak_bytes: used,
  oom: z.boolean().optional(),
  pids: used,
  pids_peak: used,
  io_read_bytes: used,
  io_write_bytes: used,
});

export const workerHeartbeat = z.strictObject({
  worker_id: workerId,
  status: z.enum(["active", "draining"]).optional(),
  current_jobs: z
    .array(
      z.strictObject({
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

export const workerMetrics = z.strictObject({
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

const claimFields = {
  worker_id: workerId,
  types: z.array(jobType).max(1000).optional(),
  session: text(1, 100).optional(),
  wait_ms: integer(0, claimWaitMsMax).optional(),
  boot_id: bootId.optional(),
};

export const claimRequest = z.strictObject(claimFields);
export const claimBatchRequest = z.strictObject({ ...claimFields, max: integer(1, claimJobsMax).default(1) });

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

/** The unsigned fields repeat the two signed texts, for scripts that only display them. */
export const claimedJobBody = z.object({
  ...claimedJob,
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

export type ClaimedJobBody = z.infer<typeof claimedJobBody>;
export type ClaimedBatch = z.infer<typeof claimedBatch>;

export const isolationLevels = ["strict", "best-effort", "none", "in-process", "container"] as const;

const isolation = z.strictObject({
  level: z.enum(isolationLevels),
  applied: z.array(text(1, 100)).max(100),
  missing: missingParts,
  cgroup: text(1, 4096).optional(),
});

const outputFile = z.strictObject({
  folder_id: folderId,
  object_key: objectKey,
  sha256: sha256Text,
  size: integer(0, Number.MAX_SAFE_INTEGER),
});

/** Each file is listed once; their number is bounded by the receipt, which lists them too. */
const outputFiles = z
  .array(outputFile)
  .max(10_000)
  .superRefine((files, context) => {
    const seen = new Set<string>();
    for (const [index, { folder_id, object_key }] of files.entries()) {
      const place = `${folder_id}/${object_key}`;
      if (seen.has(place)) {
        const message = `lists ${place} twice`;
        context.addIssue({ code: "custom", path: [index, "object_key"], message });
      }
      seen.add(place);
    }
  });

/** How many bytes of each stream the attempt has sent and the hub has accepted. */
export const outputSizes = z.strictObject({
  stdout: integer(0, Number.MAX_SAFE_INTEGER),
  stderr: integer(0, Number.MAX_SAFE_INTEGER),
});
export type OutputSizes = z.infer<typeof outputSizes>;

/** Base64 with padding. How many bytes both have together is checked where they are decoded. */
const smallStream = text(0, 4 * Math.ceil(smallOutputBytesMax / 3)).optional();
const smallOutput = z.strictObject({ stdout: smallStream, stderr: smallStream });
export type SmallOutputText = z.infer<typeof smallOutput>;

const attemptReport = {
  started_at: integer(0, Number.MAX_SAFE_INTEGER).optional().meta({
    description:
      "When the attempt started, by the worker's clock, if POST /jobs/:id/start was not called: it becomes the event JOB_STARTED, before the end",
  }),
  exit_code: integer(-1, 255).optional(),
  isolation: isolation.optional(),
  usage: usage.optional(),
  output: outputSizes.optional(),
  small_output: smallOutput.optional().meta({
    description: `All that the attempt wrote, in base64, if that is at most ${smallOutputBytesMax} bytes and none of it was appended before`,
  }),
  output_files: outputFiles.optional(),
};

/** The exact text of the receipt; a single report contains its signature, a batch has one for all. */
const receiptText = text(2, 1024 ** 2);
const receiptSignature = text(1, 200);
const signedReceipt = z.strictObject({ text: receiptText, signature: receiptSignature }).optional();

export const progressFields = {
  progress: decimal(0, 100).optional(),
  detail: text(0, 2000).optional(),
};

export const startRequest = z.strictObject({ ...fence, ...progressFields, isolation: isolation.optional() });
export const heartbeatRequest = z.strictObject({ ...fence, ...progressFields });
export const releaseRequest = z.strictObject({
  ...fence,
  ...progressFields,
  reason: text(1, 500).optional(),
});
export const progressRequest = z.strictObject({ ...fence, ...progressFields, progress: decimal(0, 100) });
export const jobTokenRequest = z.strictObject(fence);
export const jobTokenAnswer = z.object({ job_token: z.string(), expires_at: z.int() });

const resultFields = { result: anyJson, result_hash: sha256Text.optional(), ...attemptReport };
const failFields = {
  reason: text(1, 4000),
  code: z.enum(failureCodes).optional(),
  detail: text(1, 2000).optional(),
  partial_result: anyJson.optional(),
  ...attemptReport,
};

export const resultRequest = z.strictObject({ ...fence, ...resultFields, receipt: signedReceipt });
export const failRequest = z.strictObject({ ...fence, ...failFields, receipt: signedReceipt });
export type ResultRequest = z.infer<typeof resultRequest>;
export type FailRequest = z.infer<typeof failRequest>;

export const resultAnswer = z.object({ status: z.enum(jobStates), duplicate: z.boolean().optional() });
export const failAnswer = z.object({ status: z.enum(jobStates), run_at: z.int().optional() });

const itemFence = { job_id: jobId, attempt: fence.attempt, token: fence.token };

/** A batch of outcomes: each item is a result or, if it has a `reason`, a failure. */
export const failItem = z.strictObject({ ...itemFence, ...failFields, receipt: receiptText.optional() });
export const resultItem = z.strictObject({
  ...itemFence,
  ...resultFields,
  receipt: receiptText.optional(),
  idempotency_key: text(1, 200).optional(),
});

/** Each item is judged by itself, so their shapes are checked one by one, and a bad item does not affect the others. */
export const resultBatch = z.strictObject({
  worker_id: workerId,
  items: z.array(anyJson).min(1).max(256),
  /** One signature over the list of the receipts' hashes, in the order of the items. */
  receipts: z.strictObject({ signature: receiptSignature }).optional(),
});

export const resultBatchAnswer = z.object({
  items: z.array(
    z.object({
      job_id: z.string().nullable(),
      status: z.enum(jobStates).optional(),
      duplicate: z.boolean().optional(),
      run_at: z.int().optional(),
      error: z
        .object({
          code: z.string(),
          message: z.string(),
          details: z.record(z.string(), z.unknown()).optional(),
        })
        .optional(),
    }),
  ),
});
