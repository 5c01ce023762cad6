import { expect, test } from "vitest";
import { leasedBatch } from "../../contract/shapes/worker-shapes.ts";
import { readLeasedBatch } from "./read-leased-batch.ts";

const documents = ['{"job_id":"a","text":"]},\\"jobs\\":["}', '{"job_id":"b"}'];
const batch = { key_id: "0123456789abcdef", signature: "base64:AA==" };
const lease = { boot_id: "b", issued_at_ts: 1, expires_at_ts: 2 };

function answer({ head = {}, rows = rowsOf() }: { head?: object; rows?: string } = {}): string {
  const lengths = documents.map(({ length }) => length);
  const text = JSON.stringify({ lease, secret: "secret", batch, lengths, ...head });
  return `${text.slice(0, -1)},"jobs":[${rows}]}`;
}

function rowsOf(first = "[1,300,null,null"): string {
  return `${first},${documents[0]}],[2,0,["cpu","memory"],"a.b-c",${documents[1]}]`;
}

test("documents are the parts of the text that were signed, and the rest is what the shape reads", () => {
  const text = answer();
  const read = readLeasedBatch(text)!;
  expect(read.jobs.map(({ document }) => document)).toEqual(documents);
  const shaped = leasedBatch.parse(JSON.parse(text));
  expect({ ...read, jobs: undefined }).toEqual({ ...shaped, lengths: undefined, jobs: undefined });
  const rows = read.jobs.map((job) => [
    job.attempt,
    job.timeout_sec,
    job.limits_defaulted ?? null,
    job.job_token ?? null,
    JSON.parse(job.document),
  ]);
  expect(rows).toEqual(shaped.jobs);
});

test("an answer of the older form is left to its own reader", () => {
  expect(
    readLeasedBatch(JSON.stringify({ jobs: [{ id: "a", document: documents[0], lease: "{}" }], batch })),
  ).toBeNull();
});

test("a signature that is missing is passed on as one that does not verify", () => {
  expect(readLeasedBatch(answer({ head: { batch: undefined } }))?.batch.signature).toBe("");
  expect(readLeasedBatch(answer({ head: { batch: { key_id: 1 } } }))?.batch.key_id).toBe("");
});

test.each([
  ["no secret", answer({ head: { secret: undefined } })],
  ["a time that is text", answer({ head: { lease: { ...lease, expires_at_ts: "2" } } })],
  [
    "a length that is too short",
    answer({ head: { lengths: [documents[0]!.length - 1, documents[1]!.length] } }),
  ],
  ["a length that is negative", answer({ head: { lengths: [-1, documents[1]!.length] } })],
  ["a length beyond the text", answer({ head: { lengths: [documents[0]!.length, 10_000] } })],
  ["too few lengths", answer({ head: { lengths: [documents[0]!.length] } })],
  ["too many lengths", answer({ head: { lengths: [...documents.map(({ length }) => length), 1] } })],
  ["no jobs", answer({ head: { lengths: [] }, rows: "" })],
  ["attempt 0", answer({ rows: rowsOf("[0,300,null,null") })],
  ["a decimal", answer({ rows: rowsOf("[1.0,300,null,null") })],
  ["another cell", answer({ rows: rowsOf("[1,300,null,null,null") })],
  ["a space", answer({ rows: rowsOf("[1, 300,null,null") })],
  ["more text", `${answer()} `],
])("refuses an answer with %s", (_, text) => {
  expect(() => readLeasedBatch(text)).toThrow(/unexpected value/);
});
