import { z } from "zod";
import { disconnectActs, executionLocations, providers } from "../core/jobs/document.ts";
import { storageMethods, storagePolicyCharsMax, storageRightsMax } from "../core/storage-policy.ts";
import { runSpec, timeoutSecMax } from "./kinds.ts";
import {
  absolutePath,
  anyJson,
  changeablePath,
  folderId,
  integer,
  jobId,
  jobType,
  storagePrefix,
  tenantId,
  text,
  traceparent,
  userId,
} from "./shapes/fields.ts";
import { egress, limits, requires } from "./shapes/run-shapes.ts";

const yearSec = 365 * 86_400;

export const outputLocation = z.strictObject({
  folder_id: folderId,
  prefix: storagePrefix
    .refine((prefix) => prefix !== "", "must not be empty; leave it out instead")
    .optional(),
});

const storageAccessPolicy = z
  .array(z.strictObject({ folderId, prefix: storagePrefix, method: z.enum(storageMethods) }))
  .min(1, "must contain a right; leave it out to allow PUT on output_location")
  .max(storageRightsMax)
  .refine(
    (rights) =>
      rights.reduce((chars, right) => chars + right.folderId.length + right.prefix.length, 0) <=
      storagePolicyCharsMax,
    `must have at most ${storagePolicyCharsMax} characters in all its folders and prefixes`,
  );

/**
 * The document: the immutable description of the work, as it is signed. The hub writes it and the worker reads it with
 * this one shape. A field that a worker does not know is refused and not skipped, because a signed field has a meaning
 * and may be a restriction. Values that come from the user (params, metadata, inputs) are JSON of any shape.
 * Why: ADR 0006, ADR 0019.
 */
export const jobDocument = z.strictObject({
  job_id: jobId,
  tenant_id: tenantId,
  user_id: userId,
  type: jobType,
  execution_location: z.enum(executionLocations),
  provider: z.enum(providers).optional(),
  model: text(1, 200).optional(),
  run: runSpec,
  limits: limits.optional(),
  egress: egress.optional(),
  requires: requires.optional(),
  created_at_ts: integer(0, Number.MAX_SAFE_INTEGER),
  status: z.literal("QUEUED"),
  timeout_sec: integer(0, timeoutSecMax, "seconds"),
  idempotency_key: text(1, 200),
  repo_root: absolutePath.optional(),
  allowed_paths: z.array(changeablePath).max(1000).optional(),
  priority: integer(1, 10),
  max_attempts: integer(1, 100),
  queue_ttl_sec: integer(1, yearSec, "seconds").optional(),
  on_disconnect: z.enum(disconnectActs).optional(),
  steps: z.array(anyJson).max(1000).optional(),
  metadata: z.record(z.string(), anyJson).optional(),
  params: anyJson.optional(),
  output_location: outputLocation.optional(),
  storage_access_policy: storageAccessPolicy.optional(),
  traceparent: traceparent.optional(),
});

export type JobDocument = z.infer<typeof jobDocument>;
