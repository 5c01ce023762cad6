import { expect, test } from "vitest";
import { RunFailure } from "../runner.ts";
import { judgeStatus, judgeSubmission } from "./judge-answer.ts";

const id = "0198f6f0-0000-7000-8000-000000000001";
const asked = { jobId: id, who: "the worker on port 8101" };

function answer(body: unknown, status = 200) {
  return { status, text: typeof body === "string" ? body : JSON.stringify(body) };
}

function failureOf(act: () => unknown): { code: string; detail: string | undefined; reason: string } {
  try {
    act();
  } catch (error) {
    if (error instanceof RunFailure) return { code: error.code, detail: error.detail, reason: error.message };
    throw error;
  }
  throw new Error("nothing was thrown");
}

test.each([
  ["text that is not JSON", answer("<html>hello</html>")],
  ["nothing", answer("")],
  ["a list", answer([])],
  ["NaN, which is not JSON", answer('{"accepted":true,"job_id":NaN}')],
  ["accepted that is neither true nor false", answer({ accepted: "yes", job_id: id })],
  ["accepted in an error", answer({ accepted: true, job_id: id }, 500)],
  ["another job", answer({ accepted: true, job_id: "other" })],
  ["no job", answer({ accepted: true })],
  ["a refusal because the worker is busy", answer({ accepted: false, error: "busy" }, 503)],
  [
    "a refusal because the job is still there",
    answer({ accepted: false, error: { code: "DUPLICATE_JOB_ID" } }, 409),
  ],
])("%s for a submission may be retried", (_name, given) => {
  expect(failureOf(() => judgeSubmission(given, asked))).toMatchObject({
    code: "EXECUTION_ERROR",
    detail: "JOB_SUBMIT_FAILED",
  });
});

test("a job that its worker refuses is not retried and keeps the worker's code and message", () => {
  const error = { code: "UNKNOWN_JOB_CLASS", message: "image.crop is unknown" };
  for (const status of [200, 400, 404, 422]) {
    expect(
      failureOf(() => judgeSubmission(answer({ accepted: false, job_id: id, error }, status), asked)),
    ).toEqual({
      code: "INVALID_JOB",
      detail: "JOB_NOT_ACCEPTED",
      reason: "UNKNOWN_JOB_CLASS: image.crop is unknown",
    });
  }
});

test("a job is accepted by its own id", () => {
  judgeSubmission(answer({ accepted: true, job_id: id }, 202), asked);
});

test.each([
  ["text that is not JSON", answer("ok")],
  ["an unknown status", answer({ job_id: id, status: "done" })],
  ["no status", answer({ job_id: id })],
  ["another job", answer({ job_id: "other", status: "completed" })],
  ["a redirect", answer({ job_id: id, status: "completed" }, 302)],
  ["a job that it does not know", answer({ error: { code: "JOB_NOT_FOUND" } }, 404)],
])("%s for a status is a failed request", (_name, given) => {
  expect(failureOf(() => judgeStatus(given, asked))).toMatchObject({
    code: "EXECUTION_ERROR",
    detail: "HTTP_REQUEST_FAILED",
  });
});

test.each(["completed", "success"])(
  "%s is a success, and its result keeps its numbers as they were written",
  (status) => {
    const text = `{"job_id":"${id}","status":"${status}","result":{"b":1.0,"a":12345678901}}`;
    const end = { kind: "succeeded", resultJson: '{"a":12345678901,"b":1.0}' };
    expect(judgeStatus(answer(text), asked)).toEqual({ kind: "ended", end });
  },
);

test("a job without a result has the result null", () => {
  const end = { kind: "succeeded", resultJson: "null" };
  expect(judgeStatus(answer({ job_id: id, status: "completed" }), asked)).toEqual({ kind: "ended", end });
});

test("a result that is too large fails the job", () => {
  const result = "x".repeat(1024 * 1024);
  const judged = judgeStatus(answer({ job_id: id, status: "completed", result }), asked);
  expect(judged).toMatchObject({ end: { kind: "failed", code: "EXECUTION_ERROR" } });
});

test("a failure keeps the worker's error and its result", () => {
  const error = { code: "JOB_EXECUTION_ERROR", message: "no such image" };
  const judged = judgeStatus(answer({ job_id: id, status: "failed", error, result: { done: 3 } }), asked);
  expect(judged).toEqual({
    kind: "ended",
    end: {
      kind: "failed",
      code: "EXECUTION_ERROR",
      reason: "JOB_EXECUTION_ERROR: no such image",
      workerCode: "JOB_EXECUTION_ERROR",
      partialResultJson: '{"done":3}',
    },
  });
});

test.each([[undefined], [null], [42], [{}], [""]])("a failure with the error %j has a reason", (error) => {
  const judged = judgeStatus(answer({ job_id: id, status: "failed", error }), asked);
  expect(judged).toMatchObject({ end: { reason: "the job failed and its worker gave no reason" } });
});

test("valid progress is read and other progress is ignored", () => {
  const judge = (more: object) => judgeStatus(answer({ job_id: id, status: "running", ...more }), asked);
  expect(judge({})).toEqual({ kind: "open" });
  expect(judge({ progress: 40.5 })).toEqual({ kind: "open", progress: { percent: 40.5 } });
  expect(judge({ progress: 40, progress_detail: "page 2" })).toEqual({
    kind: "open",
    progress: { percent: 40, detail: "page 2" },
  });
  for (const progress of [-1, 101, "40", null, {}, []]) expect(judge({ progress })).toEqual({ kind: "open" });
});
