import { WritError } from "../../core/errors.ts";
import { cutText } from "../../core/text/cut-text.ts";
import { type JsonObject, type JsonValue, toPlain } from "../../core/text/json-value.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { parseJson } from "../../signing/parse-json.ts";
import { resultProblem } from "../read-result.ts";
import { RunFailure, type RunOutcome } from "../runner.ts";
import type { Answer } from "./exchange.ts";

/** How a job ended, as its worker answered. */
export type JobEnd = Exclude<RunOutcome, { kind: "released" }>;

export type JobProgress = { percent: number; detail?: string };

export type JobStatus = { kind: "open"; progress?: JobProgress } | { kind: "ended"; end: JobEnd };

const reasonCharsMax = 2000;
const shownCharsMax = 101;

/** The job that was asked for, and the worker as messages name it. */
type RequestedJob = { jobId: string; who: string };

/** The answer to `POST /job`. Throws a RunFailure unless the worker has accepted exactly this job. */
export function judgeSubmission(answer: Answer, { jobId, who }: RequestedJob): void {
  const body = readObject(answer);
  if (isSuccess(answer) && body?.["accepted"] === true) {
    if (body["job_id"] === jobId) return;
    throw submitFailed(`${who} accepted ${shownId(body["job_id"])} instead of job ${jobId}`);
  }
  if (body?.["accepted"] !== false) {
    const expected = `{"accepted": true, "job_id": "${jobId}"}`;
    throw submitFailed(`${who} answered POST /job with ${shownAnswer(answer)}; expected ${expected}`);
  }
  const { code, text } = readError(body["error"]);
  const reason = text ?? "the worker did not accept the job and gave no reason";
  // Too busy, out of order, or still at work on an earlier attempt: later it may accept the same job.
  const mayAcceptLater = answer.status >= 500 || answer.status === 429 || code === "DUPLICATE_JOB_ID";
  if (mayAcceptLater) throw submitFailed(reason, code);
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason, { workerCode: code });
}

/** The answer to `GET /job/{id}`. Throws a RunFailure for one that says nothing about this job. */
export function judgeStatus(answer: Answer, { jobId, who }: RequestedJob): JobStatus {
  const body = readObject(answer);
  const asked = `GET /job/${jobId}`;
  if (answer.status === 404)
    throw requestFailed(`${who} answered ${asked} with HTTP 404: it does not know the job that it accepted`);
  if (body === undefined || !isSuccess(answer)) {
    const expected = `HTTP 200 and {"job_id", "status", …}`;
    throw requestFailed(`${who} answered ${asked} with ${shownAnswer(answer)}; expected ${expected}`);
  }
  if (body["job_id"] !== jobId)
    throw requestFailed(`${who} answered ${asked} with the status of ${shownId(body["job_id"])}`);
  switch (body["status"]) {
    case "pending":
    case "running":
      return { kind: "open", ...readProgress(body) };
    case "completed":
    case "success":
      return { kind: "ended", end: succeeded(body) };
    case "failed":
      return { kind: "ended", end: failed(body) };
    default:
      throw requestFailed(
        `${who} answered ${asked} with the status ${shown(body["status"])}; use pending, running, completed, success or failed`,
      );
  }
}

export function requestFailed(reason: string): RunFailure {
  return new RunFailure("EXECUTION_ERROR", "HTTP_REQUEST_FAILED", reason);
}

export function submitFailed(reason: string, workerCode?: string): RunFailure {
  return new RunFailure("EXECUTION_ERROR", "JOB_SUBMIT_FAILED", reason, { workerCode });
}

function succeeded(body: JsonObject): JobEnd {
  const resultJson = canonicalize(body["result"] ?? null);
  const problem = resultProblem(resultJson);
  if (problem === null) return { kind: "succeeded", resultJson };
  return { kind: "failed", code: "EXECUTION_ERROR", reason: problem };
}

function failed(body: JsonObject): JobEnd {
  const { code, text } = readError(body["error"]);
  const reason = text ?? "the job failed and its worker gave no reason";
  const json = body["result"] === undefined ? undefined : canonicalize(body["result"]);
  const partial = json === undefined || resultProblem(json) !== null ? {} : { partialResultJson: json };
  const facts = { reason, ...(code === undefined ? {} : { workerCode: code }), ...partial };
  // Another attempt would meet the same refusal.
  if (code === "INVALID_INPUT" || code === "UNKNOWN_JOB_CLASS") {
    return { kind: "failed", code: "INVALID_JOB", detail: "JOB_NOT_ACCEPTED", ...facts };
  }
  return { kind: "failed", code: "EXECUTION_ERROR", ...facts };
}

/** The worker's own code and message, passed on as they are: `INVALID_INPUT: width must be positive`. */
function readError(error: JsonValue | undefined): { code?: string; text?: string } {
  if (typeof error === "string" && error !== "") return { text: bounded(error) };
  if (!isObject(error)) return {};
  const [code, message] = [error["code"], error["message"]].map((part) =>
    typeof part === "string" && part !== "" ? part : undefined,
  );
  const text = [code, message].filter((part) => part !== undefined).join(": ");
  return { ...(code === undefined ? {} : { code }), ...(text === "" ? {} : { text: bounded(text) }) };
}

/** Progress that makes no sense is left out; it is no reason to fail a job. */
function readProgress(body: JsonObject): { progress?: JobProgress } {
  const percent = toPlain(body["progress"] ?? null);
  if (typeof percent !== "number" || percent < 0 || percent > 100) return {};
  const detail = body["progress_detail"];
  return { progress: { percent, ...(typeof detail === "string" ? { detail } : {}) } };
}

function readObject({ text }: Answer): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof WritError) return undefined;
    throw error;
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === null;
}

function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

function shownAnswer(answer: Answer): string {
  const { status, text } = answer;
  const body = readObject(answer) === undefined ? shown(text) : short(text.replace(/\s+/g, " "));
  return `HTTP ${status} and ${text === "" ? "nothing else" : body}`;
}

function shownId(value: JsonValue | undefined): string {
  return value === undefined ? "a job without job_id" : `job ${shown(value)}`;
}

/** A short piece of what a worker sent, for a message. */
function shown(value: JsonValue | undefined): string {
  return value === undefined ? "nothing" : short(canonicalize(value));
}

function short(text: string): string {
  return cutText(text, shownCharsMax);
}

function bounded(text: string): string {
  return cutText(text, reasonCharsMax);
}
