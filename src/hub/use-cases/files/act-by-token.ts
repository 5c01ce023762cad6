import { folderId as folderShape } from "../../../contract/shapes/fields.ts";
import type {
  CompleteByTokenRequest,
  FileUrl,
  FileUrlRequest,
} from "../../../contract/shapes/storage-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { AttemptReport } from "../../../core/jobs/change.ts";
import { classify, failureCodes } from "../../../core/jobs/failure.ts";
import { allowsObject, inputFor, objectKeyProblem } from "../../../core/storage-policy.ts";
import type { JsonValue } from "../../../core/text/json-value.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import type { JobBrief } from "../../../store/store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { jobOrThrow } from "../access/job-or-throw.ts";
import { finishAttempt } from "../workers/finish-jobs.ts";
import { findTokenJob, type TokenCall, type TokenJob } from "./find-token-job.ts";
import { presignFiles } from "./presign-files.ts";

/** A job itself reports that it has started. Why: ADR 0092. */
export async function startByToken(deps: HubDeps, call: TokenCall): Promise<void> {
  const { fence } = await findTokenJob(deps, call);
  const change = { act: "start" as const, isolation: null, fence, keepsLease: true as const };
  const changes = [{ jobId: call.jobId, change }];
  const [answer] = await deps.store.changeJobs({ changes, rules: rulesNow(deps), origin: call.origin });
  await jobOrThrow(deps, { ...call, change }, answer!);
}

/** Makes URLs for the files of a job, within its policy. */
export async function presignByToken(
  deps: HubDeps,
  call: TokenCall & { requests: FileUrlRequest[]; hubUrl: string },
): Promise<FileUrl[]> {
  const held = await findTokenJob(deps, call);
  for (const request of call.requests) {
    if (mayUse(held, request)) continue;
    const { method, folderId, objectKey } = request;
    const what = `${method} ${JSON.stringify(`${folderId}/${objectKey}`.slice(0, 200))}`;
    throw new WritError("PERMISSION_DENIED", `the policy of the job does not allow ${what}`, {
      job_id: call.jobId,
    });
  }
  const { tenantId, userId, attempt } = held.job;
  const owner = { tenantId, userId, readerId: userId, jobId: call.jobId, attempt };
  const wantedSha256 = (request: FileUrlRequest) => inputFor(held.document, request)?.sha256;
  return presignFiles(deps, { ...call, owner, wantedSha256 });
}

/** A text that is not a key is outside every policy. */
function mayUse({ policy, document }: TokenJob, request: FileUrlRequest): boolean {
  const { folderId, objectKey } = request;
  if (!folderShape.safeParse(folderId).success || objectKeyProblem(objectKey) !== null) return false;
  return allowsObject(policy, request) || inputFor(document, request) !== null;
}

/**
 * A job itself reports how it has ended, with the files that it has stored. The same report again, after a lost answer,
 * is answered like the first.
 */
export async function completeByToken(
  deps: HubDeps,
  call: TokenCall & { body: CompleteByTokenRequest },
): Promise<JobBrief> {
  const held = await findTokenJob(deps, call, { orCompleted: true });
  const { body } = call;
  const report = {
    ...noReport,
    exitCode: body.exit_code ?? null,
    outputFiles: await filesOf(deps, held, body),
  };
  const { fence } = held;
  const result = canonicalize((body.result ?? null) as JsonValue);
  const change = body.success
    ? { act: "result" as const, fence, result, resultHash: sha256Hex(result), resultKey: null, ...report }
    : { act: "fail" as const, fence, ...failureIn(body), ...report };
  const ending = { jobId: call.jobId, change, receipt: undefined };
  return (await finishAttempt(deps, { ...call, signed: null }, ending)).job;
}

const noReport: AttemptReport = {
  exitCode: null,
  isolation: null,
  usage: null,
  outputFiles: null,
  receipt: null,
};

/** Only a worker can report an attack or a bad document; a job that reports this of itself has failed. */
function failureIn({ error, result }: CompleteByTokenRequest) {
  const given = failureCodes.find((code) => code === error?.code);
  const known = classify(given ?? "EXECUTION_ERROR");
  const isOwn = known.code === "EXECUTION_ERROR" || known.code === "TIMEOUT";
  return {
    code: isOwn ? known.code : ("EXECUTION_ERROR" as const),
    detail: (isOwn ? known.detail : null) ?? (given === undefined ? (error?.code ?? null) : null),
    reason: error?.message ?? "the job reported that it has failed",
    partialResult: result === undefined ? null : canonicalize(result as JsonValue),
  };
}

/**
 * The files in the form of a worker's report, with sizes that the hub has measured. A file that has not arrived has no
 * hash.
 */
async function filesOf(
  deps: HubDeps,
  { job }: TokenJob,
  { outputFiles = [] }: CompleteByTokenRequest,
): Promise<string | null> {
  if (outputFiles.length === 0) return null;
  const objects = await deps.store.listJobObjects({ jobId: job.id, nowMs: deps.clock.nowMs() });
  const ofAttempt = objects.filter(({ attempt }) => attempt === job.attempt);
  // Sorted so that the newest is last; each key is kept once.
  const sorted = ofAttempt.sort((a, b) => (a.id < b.id ? -1 : 1));
  const newest = new Map(sorted.map((one) => [`${one.folderId}/${one.objectKey}`, one]));
  const listed = new Map(outputFiles.map((file) => [`${file.folderId}/${file.objectKey}`, file]));
  const files = Array.from(listed, ([place, { folderId, objectKey }]) => {
    const { sha256 = null, size = null } = newest.get(place) ?? {};
    return { folder_id: folderId, object_key: objectKey, sha256: sha256 ?? "", size: size ?? 0 };
  });
  return canonicalize(files);
}
