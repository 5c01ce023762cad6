import fc from "fast-check";
import { expect, test } from "vitest";
import { resultBatch } from "../../../contract/shapes/report-shapes.ts";
import type { JsonValue } from "../../../core/text/json-value.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import { parseJson } from "../../../signing/parse-json.ts";
import { functionReceiptText } from "../../../signing/receipt.ts";
import { FunctionEnd, functionEnding } from "./function-ends.ts";
import { readPlainReports } from "./plain-reports.ts";

const keysMax = 1000;
const jobId = "01890a5d-ac96-774b-bcce-b302099a8057";
const hash = "0a".repeat(32);
const facts = {
  job_id: jobId,
  attempt: 1,
  worker_id: "w1",
  document_sha256: hash,
  started_at: 5,
  ended_at: 9,
};

function rowOf(result: string, changes: Record<number, string> = {}): string {
  const receipt = functionReceiptText({ ...facts, result_sha256: sha256Hex(result) });
  const cells = [
    `"${jobId}"`,
    "1",
    `"${"t".repeat(43)}"`,
    `"${hash}"`,
    "5",
    "9",
    `"${sha256Hex(receipt)}"`,
    result,
  ];
  return `[${cells.map((cell, place) => changes[place] ?? cell).join(",")}]`;
}

function bodyOf(rows: string, { items = "[]", leases = `["${hash}",1]`, head = "" } = {}): string {
  return `{"worker_id":"w1",${head}"receipts":{"signature":"base64:AA==","leases":[${leases}]},"ends":[${rows}],"items":${items}}`;
}

/** What the strict parser and the shapes make of the same text; null if they refuse it. */
function strictly(text: string): unknown {
  try {
    const body = resultBatch.parse(parseJson(text, { keysMax }));
    return { ...body, ends: body.ends!.map((row) => functionEnding("w1", row)) };
  } catch {
    // Any refusal is one.
    return null;
  }
}

function plainly(text: string): unknown {
  const body = readPlainReports(text, keysMax);
  return body && { ...body, ends: body.ends.map((row) => functionEnding("w1", row)) };
}

test("reads what our worker sends, with further items", () => {
  const items = `[{"job_id":"${jobId}","reason":"it failed"}]`;
  for (const text of [bodyOf(rowOf("null")), bodyOf(`${rowOf("[1]")},${rowOf('{"a":"b"}')}`, { items })]) {
    expect(readPlainReports(text, keysMax)).not.toBeNull();
    expect(plainly(text)).toEqual(strictly(text));
  }
});

test.each([
  ["no row", bodyOf("")],
  ["a row with a cell too few", bodyOf(`["${jobId}",1]`)],
  ["a row with a cell too many", bodyOf(rowOf("null").replace("]", ",1]"))],
  ["another job id", bodyOf(rowOf("null", { 0: '"../etc"' }))],
  ["attempt 0", bodyOf(rowOf("null", { 1: "0" }))],
  ["an attempt with a leading zero", bodyOf(rowOf("null", { 1: "01" }))],
  ["a decimal", bodyOf(rowOf("null", { 4: "5.0" }))],
  ["a short token", bodyOf(rowOf("null", { 2: '"short"' }))],
  ["a hash in upper case", bodyOf(rowOf("null", { 3: `"${hash.toUpperCase()}"` }))],
  ["a result with a key twice", bodyOf(rowOf("null", { 7: '{"a":1,"a":2}' }))],
  ["a result that is too deep", bodyOf(rowOf("null", { 7: `${"[".repeat(62)}${"]".repeat(62)}` }))],
  ["an unknown field", bodyOf(rowOf("null"), { head: '"more":1,' })],
  ["a lease with no receipts", bodyOf(rowOf("null"), { leases: `["${hash}",0]` })],
  ["no lease", bodyOf(rowOf("null"), { leases: "" })],
  ["more text", `${bodyOf(rowOf("null"))} `],
  ["items that are no list", bodyOf(rowOf("null"), { items: "{}" })],
  ["too many rows", bodyOf(Array(257).fill(rowOf("null")).join(","))],
  ["too many rows and items", bodyOf(Array(256).fill(rowOf("null")).join(","), { items: "[1]" })],
  ["too many keys", bodyOf(rowOf("null"), { items: JSON.stringify([Object.fromEntries(manyKeys())]) })],
])("leaves a body with %s to the strict parser", (_, text) => {
  expect(readPlainReports(text, keysMax)).toBeNull();
});

function* manyKeys(): Generator<[string, number]> {
  for (let key = 0; key < keysMax; key++) yield [`k${key}`, key];
}

test("a result is nested as deeply as the strict parser allows", () => {
  const text = bodyOf(rowOf(`${"[".repeat(61)}${"]".repeat(61)}`));
  expect(plainly(text)).not.toBeNull();
  expect(plainly(text)).toEqual(strictly(text));
});

test("what is read here is the same there, however the text was changed", () => {
  // As text, because canonical form has no -0, and no integers beyond 2^53.
  const results = fc.jsonValue().map((value) => JSON.stringify(value));
  const texts = results.map((result) => bodyOf(rowOf(result)));
  const changes = fc.array(fc.tuple(fc.nat(700), fc.string({ maxLength: 3 }), fc.nat(3)), { maxLength: 2 });
  fc.assert(
    fc.property(texts, changes, (text, edits) => {
      let edited = text;
      for (const [at, put, cut] of edits) edited = edited.slice(0, at) + put + edited.slice(at + cut);
      const plain = readPlainReports(edited, keysMax);
      if (plain === null) return;
      const whole = resultBatch.parse(parseJson(edited, { keysMax }));
      expect({ ...plain, ends: plain.ends.map(written) }).toEqual({
        ...whole,
        ends: whole.ends!.map(written),
      });
    }),
    { numRuns: 2_000 },
  );
});

function written(row: unknown): string {
  return canonicalize((row instanceof FunctionEnd ? row.row : row) as unknown as JsonValue);
}

test("a receipt that does not follow from its row is refused, and so is a row that is none", () => {
  const other = parseJson(rowOf("null", { 7: "1" }));
  expect(() => functionEnding("w1", other)).toThrow(/is not the SHA-256 of the receipt/);
  expect(() => functionEnding("w2", parseJson(rowOf("null")))).toThrow(/is not the SHA-256 of the receipt/);
  for (const row of [[], null, parseJson(rowOf("null").replace(",null]", "]"))])
    expect(() => functionEnding("w1", row)).toThrow();
});
