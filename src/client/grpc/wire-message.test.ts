import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  JobStatusSchema,
  ListJobsResponseSchema,
  StartJobRequestSchema,
  StreamOutputRequestSchema,
  StreamOutputResponseSchema,
} from "../../contract/gen/writ/v1/job_service_pb.js";
import { jobMethods } from "../../contract/job-wire.ts";
import { decodeMessage, encodeMessage } from "./wire-message.ts";

const text = fc.string({ unit: "binary" });
const uint32 = fc.nat(0xffff_ffff);
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const limits = fc.record({ cpu: text, memory: text, io: text, pids: uint32, network: text });

const status = fc.record(
  {
    jobId: text,
    state: fc.integer({ min: 0, max: 9 }),
    exitCode: fc.integer(),
    command: fc.array(text),
    limits,
    isolation: fc.record({
      level: text,
      applied: fc.array(text),
      missing: fc.array(fc.record({ part: text, why: text })),
    }),
    createdAt: int64,
    attempt: uint32,
    progress: fc.double({ noNaN: true }),
    stdoutBytes: uint64,
    usage: fc.record({ cpuMs: uint64, memoryPeakBytes: uint64, oom: fc.boolean() }),
  },
  { requiredKeys: [] },
);

const start = fc.record(
  {
    command: fc.array(text),
    limits,
    env: fc.dictionary(text, text, { noNullPrototype: true }),
    timeoutSec: uint32,
    requires: fc.record({ tags: fc.array(text), session: text }),
    idempotencyKey: text,
  },
  { requiredKeys: [] },
);

/** Our messages have no names and no bookkeeping beside their fields. */
function fieldsOf(message: unknown): unknown {
  if (message instanceof Uint8Array) return [...message];
  if (Array.isArray(message)) return message.map(fieldsOf);
  if (typeof message !== "object" || message === null) return message;
  const fields = Object.entries(message).filter(([name, value]) => name[0] !== "$" && value !== undefined);
  return Object.fromEntries(fields.map(([name, value]) => [name, fieldsOf(value)]));
}

test.each([
  ["is cut off in the middle of a text", [0x0a, 5, 0x61]],
  ["is cut off in the middle of a number", [0x18, 0x80]],
  ["has a number that never ends", [0x18, ...Array(11).fill(0x80)]],
  ["has a number where a text belongs", [0x08, 1]],
  ["has a text where a number belongs", [0x1a, 0]],
  ["has a field of a kind that there is not", [0x0b]],
  ["has half a number", [0x85, 1, 0, 0, 0, 0]],
])("a message that %s is refused", (_, bytes) => {
  expect(() => decodeMessage(jobMethods.getStatus.output, Buffer.from(bytes))).toThrow(
    /not one of JobService/,
  );
});

test("fields of a later version are passed over", () => {
  const later = [0xa2, 6, 1, 0x78, 0xa8, 6, 5, 0xb1, 6, ...Array(8).fill(1), 0xb5, 6, ...Array(4).fill(1)];
  const known = encodeMessage(jobMethods.getStatus.input, { jobId: "a" });
  const { jobId } = decodeMessage(jobMethods.getStatus.output, Buffer.concat([Buffer.from(later), known]));
  expect(jobId).toBe("a");
});

test("an answer is read as the library reads it", () => {
  const isSame = (init: object): void => {
    const bytes = toBinary(JobStatusSchema, create(JobStatusSchema, init));
    const ours = decodeMessage(jobMethods.getStatus.output, Buffer.from(bytes));
    expect(fieldsOf(ours)).toEqual(fieldsOf(fromBinary(JobStatusSchema, bytes)));
  };
  fc.assert(fc.property(status, isSame));
});

test("a list and a chunk of output are read as the library reads them", () => {
  const chunk = toBinary(
    StreamOutputResponseSchema,
    create(StreamOutputResponseSchema, { data: new Uint8Array([1, 2]), offset: 7n, attempt: 3 }),
  );
  expect(fieldsOf(decodeMessage(jobMethods.streamOutput.output, Buffer.from(chunk)))).toEqual({
    data: [1, 2],
    offset: 7n,
    attempt: 3,
  });
  const init = { jobs: [{ jobId: "a" }, { jobId: "b", exitCode: -1 }], nextPageToken: "c" };
  const list = toBinary(ListJobsResponseSchema, create(ListJobsResponseSchema, init));
  expect(fieldsOf(decodeMessage(jobMethods.listJobs.output, Buffer.from(list)))).toEqual(
    fieldsOf(fromBinary(ListJobsResponseSchema, list)),
  );
});

test("a request is written byte by byte as the library writes it", () => {
  const isSame = (init: object): void => {
    const theirs = toBinary(StartJobRequestSchema, create(StartJobRequestSchema, init));
    expect(encodeMessage(jobMethods.startJob.input, { ...init }).toString("hex")).toBe(
      Buffer.from(theirs).toString("hex"),
    );
  };
  fc.assert(fc.property(start, isSame));
  const request = { jobId: "a", stream: 1, offset: 2n ** 40n, attempt: 2, maxChunkBytes: 1024 };
  const theirs = toBinary(StreamOutputRequestSchema, create(StreamOutputRequestSchema, request));
  expect(encodeMessage(jobMethods.streamOutput.input, request)).toEqual(Buffer.from(theirs));
});
