import { z } from "zod";
import { failureCodes } from "../../core/jobs/failure.ts";
import { jobStates } from "../../core/jobs/job.ts";
import { smallOutputBytesMax } from "../../core/jobs/small-output.ts";
import { retryInSecMax } from "../../core/retry/retry-policy.ts";
import {
  anyJson,
  decimal,
  folderId,
  integer,
  jobId,
  leaseToken,
  objectKey,
  pattern,
  sha256Text,
  text,
  workerId,
} from "./fields.ts";

/* The reports of a worker about one attempt. An unknown field is refused: to ignore it could lose output. */

/** Which parts of a cage were not there. */
export const missingParts = z.array(z.strictObject({ part: text(1, 100), why: text(0, 500) })).max(100);

/** Which attempt a call is about. A worker's token must send all three fields; an administrator may leave two out. */
export const fence = {
  worker_id: workerId,
  attempt: integer(1, Number.MAX_SAFE_INTEGER).optional(),
  token: leaseToken.optional(),
};

const used = integer(0, Number.MAX_SAFE_INTEGER).optional();
export const usage = z.strictObject({
  cpu_ms: used,
  memory_bytes: used,
  memory_peak_bytes: used,
  oom: z.boolean().optional(),
  pids: used,
  pids_peak: used,
  io_read_bytes: used,
  io_write_bytes: used,
  network: z
    .strictObject({
      requests: integer(0, Number.MAX_SAFE_INTEGER),
      denied: integer(0, Number.MAX_SAFE_INTEGER),
      bytes: integer(0, Number.MAX_SAFE_INTEGER),
    })
    .optional(),
  /** As a coding agent reports it. */
  agent: z
    .strictObject({
      tool_calls: integer(0, Number.MAX_SAFE_INTEGER),
      denied: integer(0, Number.MAX_SAFE_INTEGER),
      tokens_in: integer(0, Number.MAX_SAFE_INTEGER),
      tokens_out: integer(0, Number.MAX_SAFE_INTEGER),
      cost_micro_usd: used,
      session_id: text(1, 200).optional(),
      model: text(1, 200).optional(),
    })
    .optional(),
});

export const isolationLevels = ["strict", "best-effort", "none", "in-process", "container"] as const;

const networkNamesMax = 64;
const requests = integer(1, Number.MAX_SAFE_INTEGER);

/** What an attempt with a closed network was allowed, and what it asked for: the first names of each kind. */
const closedNetwork = z.strictObject({
  allow: z.array(text(1, 300)).max(1000),
  inject: z.array(text(1, 200)).max(networkNamesMax).optional(),
  allowed: z.array(z.strictObject({ host: text(1, 300), requests })).max(networkNamesMax),
  denied: z.array(z.strictObject({ host: text(1, 300), why: text(1, 300), requests })).max(networkNamesMax),
});

const isolation = z.strictObject({
  level: z.enum(isolationLevels),
  applied: z.array(text(1, 100)).max(100),
  missing: missingParts,
  cgroup: text(1, 4096).optional(),
  network: closedNetwork.optional(),
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
const sha256Hex = pattern(/^[0-9a-f]{64}$/, "64 lower-case hex digits");

/**
 * What a receipt contains beyond its item. The hub writes the text from both, so that what they have in common is neither
 * sent nor parsed twice.
 */
const receiptParts = z.strictObject({
  sha256: sha256Hex.meta({ description: "The SHA-256 of the receipt's text" }),
  document_sha256: sha256Hex,
  stdout_sha256: sha256Hex.optional().meta({ description: "By default that of no output" }),
  stderr_sha256: sha256Hex.optional().meta({ description: "By default that of no output" }),
  started_at: integer(0, Number.MAX_SAFE_INTEGER).optional(),
  ended_at: integer(0, Number.MAX_SAFE_INTEGER),
});
export type ReceiptParts = z.infer<typeof receiptParts>;
const batchReceipt = { receipt: receiptText.optional(), receipt_parts: receiptParts.optional() };

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
export const stoppedRequest = z.strictObject({ ...fence, exit_code: integer(-1, 255) });
export const jobTokenRequest = z.strictObject(fence);
export const jobTokenAnswer = z.object({ job_token: z.string(), expires_at: z.int() });

const resultFields = { result: anyJson, result_hash: sha256Text.optional(), ...attemptReport };
const failFields = {
  reason: text(1, 4000),
  code: z.enum(failureCodes).optional(),
  detail: text(1, 2000).optional(),
  final: z.boolean().optional().meta({ description: "True: the job is not tried again, whatever its code" }),
  retry_in_sec: integer(0, retryInSecMax, "seconds").optional().meta({
    description: "When it is tried again, if it is: after this long instead of the ordinary delay",
  }),
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
export const failItem = z.strictObject({ ...itemFence, ...failFields, ...batchReceipt });
export const resultItem = z.strictObject({
  ...itemFence,
  ...resultFields,
  ...batchReceipt,
  idempotency_key: text(1, 200).optional(),
});

const attemptTime = integer(0, Number.MAX_SAFE_INTEGER);

/**
 * The end of a function that succeeded inside the worker and wrote nothing. Everything else in its item and its receipt
 * follows from that.
 */
export const functionEnd = z.tuple([
  jobId,
  fence.attempt.unwrap(),
  leaseToken,
  sha256Hex.meta({ description: "The SHA-256 of the document" }),
  attemptTime.meta({ description: "When the function started, by the worker's clock" }),
  attemptTime.meta({ description: "When it ended" }),
  sha256Hex.meta({ description: "The SHA-256 of the receipt's text" }),
  anyJson.meta({ description: "The result" }),
]);

const endsMax = 256;

/** Each item is judged by itself, so their shapes are checked one by one, and a bad item does not affect the others. */
export const resultBatch = z
  .strictObject({
    worker_id: workerId,
    items: z.array(anyJson).max(endsMax),
    ends: z.array(anyJson).max(endsMax).optional().meta({
      description:
        "Functions that succeeded and wrote nothing, as rows: [job_id, attempt, token, document_sha256, started_at, ended_at, receipt_sha256, result]. They come before the items in the list of receipts",
    }),
    receipts: z
      .strictObject({
        signature: receiptSignature.meta({
          description: "One signature over the list of the receipts' hashes, in the order of ends and items",
        }),
        leases: z
          .array(z.tuple([sha256Hex, integer(1, endsMax)]))
          .min(1)
          .max(endsMax)
          .optional()
          .meta({
            description:
              "Part of the signed list: the SHA-256 of what the hub signed for each claim, and how many receipts that follow each other are of it",
          }),
      })
      .optional(),
  })
  .refine(({ items, ends = [] }) => isWithin(items.length + ends.length, 1, endsMax), {
    path: ["items"],
    message: `must be, together with ends, 1 to ${endsMax}`,
  });

function isWithin(count: number, min: number, max: number): boolean {
  return count >= min && count <= max;
}

const refusedItem = z.object({
  code: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
});

export const resultBatchAnswer = z.object({
  items: z.array(
    z.object({
      job_id: z.string().nullable(),
      status: z.enum(jobStates).optional(),
      duplicate: z.boolean().optional(),
      run_at: z.int().optional(),
      error: refusedItem.optional(),
    }),
  ),
  ends: z
    .array(z.object({ row: z.int(), job_id: z.string().nullable(), error: refusedItem }))
    .optional()
    .meta({ description: "The rows of ends that were refused; all others are stored" }),
});
