import { expect, test } from "vitest";
import { jobBatch } from "../../../contract/shapes/submit-shapes.ts";
import { parseJson } from "../../../signing/parse-json.ts";
import { buildDocument } from "./build-document.ts";
import { compareReaders } from "./plain-submissions.testing.ts";
import { readPlainBatch, readPlainJob } from "./plain-submissions.ts";

const keysMax = 1000;
const jobId = "01890a5d-ac96-774b-bcce-b302099a8057";

test.each([
  ["an unknown field", '{"type":"a","colour":1}'],
  ["a field that comes twice", '{"type":"a","type":"a"}'],
  ["params that come twice", '{"type":"a","params":1,"params":1}'],
  ["no type", '{"params":1}'],
  ["a type with a space", '{"type":"a b"}'],
  ["a priority that is too high", '{"type":"a","priority":11}'],
  ["a time and a delay", '{"type":"a","run_at":1,"delay_ms":1}'],
  ["another kind of job", '{"type":"exec","run":{"kind":"exec","argv":["true"]}}'],
  ["a key twice in params", '{"type":"a","params":{"b":1,"b":1}}'],
  ["__proto__ in params", '{"type":"a","params":{"__proto__":1}}'],
  ["half of a surrogate pair", '{"type":"a","params":["\\ud800"]}'],
  ["-0", '{"type":"a","params":[-0]}'],
  ["an integer that is not safe", '{"type":"a","params":[9007199254740993]}'],
  ["a second value", '{"type":"a"}{"type":"a"}'],
  ["the end missing", '{"type":"a","params":{"a":1}'],
  ["a string that does not end", '{"type":"a","params":{"a":"\\"}'],
  ["nothing", ""],
])("leaves a job with %s to the strict parser", (_, text) => {
  expect(readPlainJob(text, keysMax)).toBeNull();
  expect(readPlainBatch(`{"jobs":[${text}]}`, keysMax)).toBeNull();
});

test("leaves an empty batch, one that is too long and one with too many keys to the strict parser", () => {
  const batchOf = (count: number) => `{"jobs":[${Array(count).fill('{"type":"a"}').join(",")}]}`;
  expect(readPlainBatch(batchOf(0), keysMax)).toBeNull();
  expect(readPlainBatch(batchOf(1000), 1000)?.jobs).toHaveLength(1000);
  expect(readPlainBatch(batchOf(1000), 999)).toBeNull();
  expect(readPlainBatch(batchOf(1001), 2000)).toBeNull();
});

test.each([
  ["sorted", '{"a":1,"b":2}'],
  ["in another order", '{"b":1,"a":2}'],
])("counts the keys of params that are %s", (_, params) => {
  const text = `{"type":"a","params":${params}}`;
  expect(readPlainJob(text, 4)).not.toBeNull();
  expect(readPlainJob(text, 3)).toBeNull();
});

test("params are nested as deeply as the strict parser allows, and no deeper", () => {
  const nested = (levels: number) => `{"type":"a","params":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const batch = (levels: number) => `{"jobs":[${nested(levels)}]}`;
  expect(() => parseJson(batch(61))).not.toThrow();
  expect(() => parseJson(batch(62))).toThrow();
  expect(readPlainBatch(batch(61), keysMax)).not.toBeNull();
  expect(readPlainBatch(batch(62), keysMax)).toBeNull();
  expect(readPlainJob(nested(63), keysMax)).not.toBeNull();
  expect(readPlainJob(nested(64), keysMax)).toBeNull();
});

test.each([
  ["in canonical form", '{"a":[1,true,null,"x\\n"],"b":{}}'],
  ["with keys in another order", '{"b":0.5,"a":1.0}'],
  ["with letters beyond ASCII", '{"name":"Zoë 漢"}'],
  ["that are a text", '"a text"'],
  ["that are null", "null"],
  ["that are larger than a list shows", `{"text":"${"x".repeat(3000)}","umlauts":"${"ä".repeat(200)}"}`],
])("a job with params %s is the job that the strict parser reads", (_, params) => {
  const text = `{"jobs":[{"type":"a","params":${params},"job_id":"${jobId}","idempotency_key":"k"}]}`;
  const strict = jobBatch.parse(parseJson(text)).jobs[0]!;
  const plain = readPlainBatch(text, keysMax)!.jobs[0]!;
  const making = { jobId, nowMs: 1_000 };
  const author = { tenantId: "default", userId: "ada" };
  expect(buildDocument(plain, author, making)).toEqual(buildDocument(strict, author, making));
});

test("whatever the plain reader accepts is what the strict parser makes of it (20,000 random batches)", () => {
  const { batches, plain, refused } = compareReaders(1, 20_000);
  // Otherwise one of the two ways would hardly have been tried.
  expect(plain).toBeGreaterThan(batches / 20);
  expect(refused).toBeGreaterThan(batches / 20);
});
