import { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jobService, jobStatus } from "../../src/contract/gen/writ/v1/job_service.ts";
import { decodeMessage } from "../../src/runtime/grpc/decode-message.ts";
import { encodeMessage } from "../../src/runtime/grpc/encode-message.ts";
import type { WireMessage } from "../../src/runtime/grpc/wire-message.ts";
import { schemaOf } from "../support/proto-schemas.ts";

const text = fc.string({ unit: "grapheme" });
const uint32 = fc.nat(0xffff_ffff);
const int64 = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
const uint64 = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const limits = fc.record({ cpu: text, memory: text, io: text, pids: uint32, network: text });

const status = fc.record(
  {
    job_id: text,
    state: fc.constantFrom("UNKNOWN", "RUNNING", "STOPPED", "QUEUED"),
    exit_code: fc.integer(),
    command: fc.array(text),
    limits,
    isolation: fc.record({
      level: text,
      applied: fc.array(text),
      missing: fc.array(fc.record({ part: text, why: text })),
    }),
    created_at: int64,
    attempt: uint32,
    // JSON, by way of which the library is given it, has no -0.
    progress: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    stdout_bytes: uint64,
    output_removed: fc.boolean(),
    usage: fc.record({ cpu_ms: uint64, memory_peak_bytes: uint64, oom: fc.boolean() }),
  },
  { requiredKeys: [] },
);

const start = fc.record(
  {
    command: fc.array(text),
    limits,
    env: fc.dictionary(text, text, { noNullPrototype: true }),
    timeout_sec: uint32,
    requires: fc.record({ tags: fc.array(text), session: text }),
    idempotency_key: text,
  },
  { requiredKeys: [] },
);

const cases = [
  ["JobStatus", jobStatus, status],
  ["StartJobRequest", jobService.startJob.input, start],
  ["ListJobsResponse", jobService.listJobs.output, fc.record({ jobs: fc.array(status), total: uint32 })],
] as [string, WireMessage, fc.Arbitrary<object>][];

describe.each(cases)("%s", (name, table, messages) => {
  /** By way of JSON, in which the library takes the names of the proto file. */
  const theirBytes = (message: object) =>
    Buffer.from(toBinary(schemaOf(name), fromJson(schemaOf(name), JSON.parse(JSON.stringify(message)))));

  test("is written byte by byte as the library writes it", () => {
    const isSame = (message: object): void => {
      expect(encodeMessage(table, message).toString("hex")).toBe(theirBytes(message).toString("hex"));
    };
    fc.assert(fc.property(messages, isSame));
  });

  test("is read as the library reads it", () => {
    const isSame = (message: object) => {
      const read = decodeMessage(table, theirBytes(message));
      const schema = schemaOf(name);
      const options = { useProtoFieldName: true } as const;
      expect(toJson(schema, fromBinary(schema, encodeMessage(table, read)), options)).toEqual(
        toJson(schema, fromBinary(schema, theirBytes(message)), options),
      );
    };
    fc.assert(fc.property(messages, isSame));
  });
});

test.each([
  ["is cut off in the middle of a text", [0x0a, 5, 0x61]],
  ["is cut off in the middle of a number", [0x18, 0x80]],
  ["has a number that never ends", [0x18, ...Array(11).fill(0x80)]],
  ["has a number where a text belongs", [0x08, 1]],
  ["has a text where a number belongs", [0x1a, 0]],
  ["has a text that is not UTF-8", [0x0a, 1, 0xff]],
  ["has a field of a kind that there is not", [0x0b]],
  ["has a field without a number", [0x00, 0]],
  ["has half a number", [0x85, 1, 0, 0, 0, 0]],
])("a message that %s is refused", (_, bytes) => {
  expect(() => decodeMessage(jobStatus, Buffer.from(bytes))).toThrow("not the message");
});

test("fields of a later version are skipped", () => {
  const later = [0xa2, 6, 1, 0x78, 0xa8, 6, 5, 0xb1, 6, ...Array(8).fill(1), 0xb5, 6, ...Array(4).fill(1)];
  const known = encodeMessage(jobStatus, { job_id: "a" });
  expect(decodeMessage(jobStatus, Buffer.concat([Buffer.from(later), known])).job_id).toBe("a");
});

test("a state of a later version is its number", () => {
  expect(decodeMessage(jobStatus, encodeMessage(jobStatus, { state: 9 })).state).toBe(9);
});

test("what is empty has its empty value, and what can be absent is undefined", () => {
  expect(decodeMessage(jobStatus, Buffer.alloc(0))).toMatchObject({
    job_id: "",
    state: "UNKNOWN",
    exit_code: undefined,
    command: [],
    limits: undefined,
    created_at: 0,
    output_removed: false,
  });
});

test("bytes and numbers of 64 bits keep their values", () => {
  const { output } = jobService.streamOutput;
  const message = { data: Buffer.from([1, 2]), offset: Number.MAX_SAFE_INTEGER, attempt: 3 };
  expect(decodeMessage(output, encodeMessage(output, message))).toEqual(message);
  const schema = schemaOf("StreamOutputResponse");
  const theirs = toBinary(schema, create(schema, { offset: 2n ** 63n } as Record<string, unknown>));
  expect(decodeMessage(output, Buffer.from(theirs)).offset).toBe(2 ** 63);
});

test("the key of a map cannot reach a prototype", () => {
  const { input } = jobService.startJob;
  const env = Object.fromEntries([["__proto__", "x"]]);
  const read = decodeMessage(input, encodeMessage(input, { env }));
  expect(Object.entries(read.env)).toEqual([["__proto__", "x"]]);
  expect(Object.getPrototypeOf(read.env)).toBe(Object.prototype);
});

test.each([Number.POSITIVE_INFINITY, 0.5, 2 ** 60])("%d is not written as an integer", (offset) => {
  expect(() => encodeMessage(jobService.streamOutput.input, { offset })).toThrow("not a whole number");
});
