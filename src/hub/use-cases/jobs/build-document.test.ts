import { expect, test } from "vitest";
import { jobDocument } from "../../../contract/document.ts";
import { type JobSubmission, jobSubmission } from "../../../contract/shapes/submit-shapes.ts";
import type { JsonValue } from "../../../core/text/json-value.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import { parseJson } from "../../../signing/parse-json.ts";
import { buildDocument } from "./build-document.ts";

const jobId = "01890a5d-ac96-774b-bcce-b302099a8057";
const author = { tenantId: "default", userId: "ada" };

/** A submission as it arrives: read strictly, so that decimals keep their spelling. */
function arrived(json: string): JobSubmission {
  return jobSubmission.parse(parseJson(json));
}

test.each([
  ["a handler", '{"type":"a","params":{"z":1.0,"a":[1e2,"ä",{"b":null}]},"idempotency_key":"k"}'],
  ["a handler with plain params", '{"type":"a","params":7,"idempotency_key":"k"}'],
  [
    "a command",
    '{"type":"exec","run":{"kind":"exec","argv":["echo","é"],"env":{"B":"1","A":"2"}},"idempotency_key":"k"}',
  ],
  [
    "a command with params",
    '{"type":"exec","run":{"kind":"exec","argv":["true"]},"params":{"b":0.5},"idempotency_key":"k"}',
  ],
  [
    "every other field",
    `{"type":"a","job_id":"${jobId}","priority":9,"steps":[{"b":1,"a":2.50}],"metadata":{"x":1e-7},"queue_ttl_sec":5,"requires":{"tags":["b","a"]}}`,
  ],
])("document and request of %s are in canonical form", (_, json) => {
  const submission = arrived(json);
  const job = buildDocument(submission, author, { jobId, nowMs: 1_000 });
  const document = parseJson(job.document);
  expect(canonicalize(document)).toBe(job.document);
  expect(jobDocument.safeParse(document).success).toBe(true);
  expect(job.documentSha256).toBe(sha256Hex(job.document));
  expect(job.requestHash).toBe(sha256Hex(canonicalize(submission as unknown as JsonValue)));
});

test("O-24: a delay counts from the hub's clock, and a repeated submission is the same request", () => {
  const submission = arrived('{"type":"a","delay_ms":300000,"idempotency_key":"k"}');
  const first = buildDocument(submission, author, { jobId, nowMs: 1_000 });
  const again = buildDocument(submission, author, { jobId, nowMs: 2_000 });
  expect([first.runAt, again.runAt]).toEqual([301_000, 302_000]);
  expect(again.requestHash).toBe(first.requestHash);
});

test("a job without an idempotency key stores no request to compare with", () => {
  expect(buildDocument(arrived('{"type":"a"}'), author, { jobId, nowMs: 1_000 }).requestHash).toBeNull();
});
