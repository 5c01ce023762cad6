import { argumentInputBytesMax } from "../../../contract/define-kind.ts";
import { type JobDocument, jobDocument } from "../../../contract/document.ts";
import { summarizeDocument } from "../../../contract/document-summary.ts";
import { type RunSpec, rulesOf } from "../../../contract/kinds.ts";
import {
  type JobSubmission,
  jobSubmission,
  kindOf,
  promptJob,
} from "../../../contract/shapes/submit-shapes.ts";
import { invalidArgument } from "../../../core/errors.ts";
import { defaultOnDisconnect, documentDefaults } from "../../../core/jobs/document.ts";
import { formatOf } from "../../../core/jobs/document-format.ts";
import type { NewJob } from "../../../core/jobs/job.ts";
import { queueKey } from "../../../core/jobs/queue-key.ts";
import { termNames } from "../../../core/jobs/terms.ts";
import type { LimitsText } from "../../../core/limits.ts";
import { attemptsOf } from "../../../core/retry/retry-policy.ts";
import { inputsOf, outputFolderDefault } from "../../../core/storage-policy.ts";
import { CanonicalText, type JsonValue } from "../../../core/text/json-value.ts";
import { firstDelayMs } from "../../../core/unique/unique.ts";
import { canonicalize, canonicalWriter, type KnownPart } from "../../../signing/canonical.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import { parseJson } from "../../../signing/parse-json.ts";

export type Author = { tenantId: string; userId: string };

/** Defaults that a transport has filled into a submission: they apply, but the producer did not choose them. */
export type Defaulted = { maxAttempts: boolean; limits: readonly (keyof LimitsText)[] };

type Making = { jobId: string; nowMs: number; defaulted?: Defaulted | undefined };

/**
 * Turns a submission into the document that will be signed, and the record that the store keeps beside it.
 * Why: ADR 0019, ADR 0062.
 */
export function buildDocument(submission: JobSubmission, author: Author, made: Making): NewJob {
  const known = sharedPart(submission);
  const document = describe(submission, author, made);
  const text = writeDocument(document, known);
  const delayMs = submission.delay_ms ?? firstDelayMs(submission.unique);
  const isNamed = submission.idempotency_key !== undefined || submission.job_id !== undefined;
  return {
    id: document.job_id,
    tenantId: author.tenantId,
    userId: author.userId,
    type: document.type,
    priority: document.priority,
    queueKey: keyOf(document),
    document: text,
    ...inputsIn(document),
    summary: text.length <= smallDocumentBytes ? null : canonicalize(summaryOf(withValues(document, text))),
    documentSha256: sha256Hex(text),
    idempotencyKey: document.idempotency_key,
    isKeyChosen: submission.idempotency_key !== undefined,
    requestHash: isNamed ? sha256Hex(requestText(submission, known)) : null,
    maxAttempts: document.max_attempts,
    attemptsChosen: submission.max_attempts !== undefined && made.defaulted?.maxAttempts !== true,
    limitsDefaulted: made.defaulted?.limits.join(",") || null,
    timeoutSec: document.timeout_sec,
    queueTtlSec: submission.queue_ttl_sec ?? null,
    terms: termsText(submission),
    createdAt: made.nowMs,
    runAt: Math.max(made.nowMs, submission.run_at ?? made.nowMs + delayMs),
  };
}

/** Most jobs have none of it, and then no text either. */
function termsText(submission: JobSubmission): string | null {
  const names = termNames.filter((name) => submission[name] !== undefined);
  if (names.length === 0) return null;
  return canonicalize(Object.fromEntries(names.map((name) => [name, submission[name]])) as JsonValue);
}

/** Most jobs have no inputs, and an empty field would cost time on the way to the store. */
function inputsIn(document: JobDocument): Pick<NewJob, "inputs"> {
  const inputs = inputsOf(document);
  if (inputs.length === 0) return {};
  return { inputs: inputs.map(({ folder_id, object_key, sha256 }) => ({ folder_id, object_key, sha256 })) };
}

const writeDocument = canonicalWriter(Object.keys(jobDocument.shape));
const writeSubmission = canonicalWriter(Object.keys(jobSubmission.shape));

/** The largest part of most jobs is both in the document and in the hashed request, so its text is made once. */
function sharedPart({ params, run }: JobSubmission): KnownPart | undefined {
  const value = typeof params === "object" && params !== null ? params : run;
  return value === undefined ? undefined : { value, text: canonicalize(value as JsonValue) };
}

/** The hash leaves out the trace: a repeated call is the same request although each try has a span of its own. */
export function requestText(submission: JobSubmission, known?: KnownPart): string {
  return writeSubmission({ ...submission, traceparent: undefined }, known);
}

/** A list reads documents up to this size whole; that costs less than storing a summary of each. */
export const smallDocumentBytes = 2048;

/** Which fields a list cuts depends on their values, and not on how they came. */
function withValues(document: JobDocument, text: string): JobDocument {
  return "params" in document.run && document.run.params instanceof CanonicalText
    ? (parseJson(text) as unknown as JobDocument)
    : document;
}

function summaryOf(document: JobDocument): JsonValue {
  return summarizeDocument(document) as unknown as JsonValue;
}

function describe(submission: JobSubmission, author: Author, made: Making): JobDocument {
  const { jobId } = made;
  const run = runOf(submission);
  checkInputSize(run);
  return {
    job_id: jobId,
    tenant_id: author.tenantId,
    user_id: author.userId,
    type: submission.type ?? promptJob.type,
    execution_location: submission.execution_location ?? documentDefaults.executionLocation,
    provider: submission.provider,
    model: submission.model,
    run,
    limits: submission.limits,
    egress: egressIn(submission),
    requires: submission.requires,
    created_at_ts: Math.floor(made.nowMs / 1000),
    status: "QUEUED" as const,
    timeout_sec: timeoutOf(submission, rulesOf(run.kind).timeoutSecMax),
    idempotency_key: idempotencyKeyOf(submission.idempotency_key, author.tenantId, jobId),
    repo_root: submission.repo_root,
    allowed_paths: submission.allowed_paths,
    priority: submission.priority ?? documentDefaults.priority,
    max_attempts: submission.max_attempts ?? attemptsByDefault(submission),
    queue_ttl_sec: submission.queue_ttl_sec,
    on_disconnect: onDisconnectIn(submission, run),
    steps: submission.steps,
    metadata: submission.metadata,
    // Some kinds have the params inside `run`; jobs of other kinds may have params for their own use.
    params: rulesOf(run.kind).takesParams ? undefined : submission.params,
    output_location: outputLocationIn(submission, run, jobId),
    storage_access_policy: submission.storage_access_policy,
    traceparent: submission.traceparent,
  };
}

function runOf(submission: JobSubmission): RunSpec {
  const { params } = submission;
  if (submission.run !== undefined) {
    const { run } = submission;
    const takesParams = rulesOf(run.kind).takesParams && params !== undefined;
    return takesParams ? ({ ...run, params } as RunSpec) : run;
  }
  const given = params === undefined ? {} : { params };
  const kind = kindOf(submission);
  if (kind === "handler") return { kind, ...given };
  if (kind === "delegate")
    return { kind, agent: promptJob.agent, prompt: String(submission.metadata?.["input"]) };
  return { kind: "solver", url: submission.solver_url!, checksum: submission.solver_checksum!, ...given };
}

/** Always there with a closed network, so that no worker is given the job that does not know what that is. */
function egressIn({ limits, egress }: JobSubmission) {
  return limits?.network === "closed" ? (egress ?? { allow: [] }) : undefined;
}

function attemptsByDefault({ retry }: JobSubmission): number {
  return retry === undefined ? documentDefaults.maxAttempts : attemptsOf(retry);
}

function onDisconnectIn({ on_disconnect: chosen }: JobSubmission, run: RunSpec) {
  return chosen === defaultOnDisconnect({ run }) ? undefined : chosen;
}

/** Collected files, and the changes of a coding agent, need a place; a job that names none gets its own. */
function outputLocationIn({ output_location }: JobSubmission, run: RunSpec, jobId: string) {
  const hasFiles = run.collect !== undefined || run.kind === "delegate";
  if (output_location !== undefined || !hasFiles) return output_location;
  return { folder_id: outputFolderDefault, prefix: jobId };
}

function timeoutOf(submission: JobSubmission, max: number): number {
  if (submission.max_runtime_ms !== undefined) return Math.ceil(submission.max_runtime_ms / 1000);
  return submission.timeout_sec ?? Math.min(documentDefaults.timeoutSec, max);
}

/** Keys are stored as hashes; a producer's key is hashed together with its tenant. */
export function idempotencyKeyOf(given: string | undefined, tenantId: string, jobId: string): string {
  if (given === undefined) return `sha256:${sha256Hex(jobId)}`;
  if (/^sha256:[0-9a-f]{64}$/.test(given)) return given;
  return `sha256:${sha256Hex(`${tenantId}\n${given}`)}`;
}

function checkInputSize(run: RunSpec): void {
  const { argument } = rulesOf(run.kind);
  const input = argument === null ? undefined : (run as Record<string, unknown>)[argument];
  if (input === undefined) return;
  const bytes = canonicalize(input as JsonValue).length;
  if (bytes <= argumentInputBytesMax) return;
  const path = argument === "params" ? "params" : `run.${argument}`;
  const message = `must be at most ${argumentInputBytesMax} bytes, is ${bytes}; put it into a file`;
  throw invalidArgument({ path, message });
}

function keyOf(document: JobDocument): string {
  const { run } = document;
  return queueKey({
    tenant_id: document.tenant_id,
    type: document.type,
    kind: run.kind,
    execution_location: document.execution_location,
    provider: document.provider ?? null,
    model: document.model ?? null,
    tags: document.requires?.tags ?? [],
    session: document.requires?.session ?? null,
    cores: document.requires?.cores ?? null,
    ram_gb: document.requires?.ram_gb ?? null,
    container: "container" in run ? (run.container ?? null) : null,
    agent: run.kind === "delegate" && run.agent !== promptJob.agent ? run.agent : null,
    network: document.limits?.network === "closed" ? "closed" : null,
    document_format: formatOf(document),
  });
}
