import { expect, test } from "vitest";
import { jobDocument } from "../../contract/document.ts";
import type { JsonObject, JsonValue } from "../../core/text/json-value.ts";
import { readPlainDocument } from "./plain-document.ts";

const document: JsonObject = {
  created_at_ts: 1,
  execution_location: "LOCAL_MACHINE",
  idempotency_key: `sha256:${"0a".repeat(32)}`,
  job_id: "0190aaaa-0000-7000-8000-000000000000",
  max_attempts: 3,
  priority: 5,
  run: { kind: "handler", params: { text: "x" } },
  status: "QUEUED",
  tenant_id: "default",
  timeout_sec: 300,
  type: "noop",
  user_id: "alice",
};

const names = Object.keys(document);
const values: JsonValue[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  "",
  "\0",
  "a b",
  "QUEUED",
  "CLOUD",
  [],
  {},
  [document["job_id"]!],
  { kind: "handler" },
  { kind: "handler", params: null, collect: [] },
  { kind: "handler", inputs: [] },
  { kind: "exec", argv: ["true"] },
  { params: 1 },
  "x".repeat(300),
];

/** The document with each field replaced, removed and added, with values of every kind. */
function* variants(): Generator<JsonObject> {
  for (const name of [...names, "metadata", "unknown", "provider"]) {
    for (const value of values) {
      const changed = { ...document, [name]: value };
      yield Object.fromEntries(Object.entries(changed).sort(([a], [b]) => (a < b ? -1 : 1)));
    }
    const { [name]: _, ...rest } = document;
    yield rest;
  }
}

test("what is read without the shape is what the shape reads, whichever document was read before", () => {
  let plain = 0;
  for (const variant of variants()) {
    for (const one of [document, variant, document]) {
      const read = readPlainDocument(one);
      if (read === null) continue;
      plain++;
      expect(jobDocument.parse(structuredClone(one))).toEqual(read);
    }
  }
  expect(plain).toBeGreaterThan(names.length);
});

test("a plain document is read without the shape, and one with another field is left to it", () => {
  expect(readPlainDocument(document)).toBe(document);
  expect(readPlainDocument({ ...document, run: { kind: "handler" } })).not.toBeNull();
  expect(readPlainDocument({ ...document, run: { kind: "exec", argv: ["true"] } })).toBeNull();
  expect(readPlainDocument({ ...document, unknown: 1 })).toBeNull();
  expect(readPlainDocument({ ...document, idempotency_key: "mine" })).toBeNull();
});
