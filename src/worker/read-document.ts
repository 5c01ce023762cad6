import { z } from "zod";
import {
  absolutePath,
  anyJson,
  integer,
  jobId,
  jobType,
  relativePath,
  tenantId,
  text,
  userId,
} from "../contract/fields.ts";
import { limits, requires, runSpec } from "../contract/run-shapes.ts";
import { outputLocation, storageAccessPolicy } from "../contract/submit-shapes.ts";
import { executionLocations, type JobDocument, providers, timeoutSecMax } from "../core/document.ts";
import { type JsonObject, toPlain } from "../core/json-value.ts";
import { RunFailure } from "../runners/runner.ts";

/**
 * The document as this worker understands it. A field that it does not know is refused and not skipped: it was
 * signed because it means something, perhaps a restriction.
 */
const jobDocument = z.strictObject({
  job_id: jobId,
  tenant_id: tenantId,
  user_id: userId,
  type: jobType,
  execution_location: z.enum(executionLocations),
  provider: z.enum(providers).optional(),
  model: text(1, 200).optional(),
  run: runSpec,
  limits: limits.optional(),
  requires: requires.optional(),
  created_at_ts: integer(0, Number.MAX_SAFE_INTEGER),
  status: z.literal("QUEUED"),
  timeout_sec: integer(0, timeoutSecMax.exec),
  idempotency_key: text(1, 200),
  repo_root: absolutePath.optional(),
  allowed_paths: z.array(relativePath).max(1000).optional(),
  priority: integer(1, 10),
  max_attempts: integer(1, 100),
  queue_ttl_sec: integer(1, Number.MAX_SAFE_INTEGER).optional(),
  steps: anyJson.optional(),
  metadata: anyJson.optional(),
  params: anyJson.optional(),
  output_location: outputLocation.optional(),
  storage_access_policy: storageAccessPolicy.optional(),
});

export type Accepting = {
  location: string;
  capabilities: readonly { provider: string; model: string }[];
};

/** Reads a document whose signature has been checked; what this worker cannot take is an INVALID_JOB. */
export function readDocument(signed: JsonObject, worker: Accepting): JobDocument {
  const document = parseDocument(signed);
  if (document.execution_location !== worker.location) {
    throw notAccepted(`the job is for ${document.execution_location}, this worker is at ${worker.location}`);
  }
  const { provider, model } = document;
  const hasModel = worker.capabilities.some((one) => one.provider === provider && one.model === model);
  if (provider !== undefined && !hasModel) {
    throw new RunFailure("INVALID_JOB", "NO_SUCH_MODEL", `this worker has no ${provider} ${model}`);
  }
  return document;
}

function parseDocument(signed: JsonObject): JobDocument {
  const parsed = jobDocument.safeParse(toPlain(signed));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")} `;
  throw notAccepted(`this worker does not understand the document: ${place}${issue?.message ?? ""}`);
}

const reasonCharsMax = 2000;

function notAccepted(reason: string): RunFailure {
  return new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason.slice(0, reasonCharsMax));
}
