import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteWriter } from "./byte-writer.ts";
import { differingColumns, type JobLine, lineColumns, readJobLine, writeJobLine } from "./job-line.ts";
import { readSharedTexts, SharedTexts } from "./shared-texts.ts";

const job: JobLine & { documentSha256: string } = {
  seq: 7,
  createdAt: 1_763_350_000_000,
  runAt: 1_763_350_000_000,
  queueTtlSec: null,
  id: "0199aaaa-bbbb-7ccc-8ddd-000000000001",
  tenantId: "acme",
  userId: "ada",
  type: "build",
  priority: 5,
  queueKey: '{"type":"build"}',
  documentTimeoutSec: 60,
  timeoutSec: 120,
  maxAttempts: 3,
  attemptsChosen: false,
  limitsDefaulted: null,
  documentSha256: "ab".repeat(32),
  idempotencyKey: 'chosen "by" a producer\n',
  requestHash: null,
  terms: null,
};

const others: typeof job = {
  seq: 2 ** 40,
  createdAt: 1,
  runAt: 1_763_350_000_000,
  queueTtlSec: 604_800,
  id: "0199aaaa-bbbb-7ccc-8ddd-000000000002",
  tenantId: "other",
  userId: "bob",
  type: "deploy",
  priority: 9,
  queueKey: '{"type":"deploy"}',
  documentTimeoutSec: 61,
  timeoutSec: 121,
  maxAttempts: 4,
  attemptsChosen: true,
  limitsDefaulted: "cpu",
  documentSha256: "cd".repeat(32),
  idempotencyKey: "",
  requestHash: "",
  terms: '{"labels":["nightly"]}',
};

/** What is read of the line that is written for a job. */
function lineOf(written: JobLine, edit: (line: Buffer) => Buffer = (line) => line): JobLine | null {
  const texts = new SharedTexts();
  const bytes = new ByteWriter();
  writeJobLine(bytes, texts, written);
  const shared = new ByteWriter();
  texts.writeTo(shared);
  return readJobLine(edit(bytes.take()), readSharedTexts(shared.take()));
}

const prefixed = fc.constant(`sha256:${"cd".repeat(32)}`);
const sealed = lineColumns.filter((column) => column !== "documentSha256");

test.each(sealed)("a row whose %s was edited differs from its line in that column", (column) => {
  const edited = { ...job, [column]: others[column] };
  expect(differingColumns(edited, lineOf(job)!)).toEqual([column]);
});

test("a row with the line of another job differs in everything", () => {
  expect(differingColumns(job, lineOf(others)!)).toEqual(sealed);
});

test("bytes that are no line give none", () => {
  for (const edit of [
    () => Buffer.alloc(0),
    (line: Buffer) => line.subarray(0, 9),
    () => Buffer.alloc(40, 255),
  ])
    expect(lineOf(job, edit)).toBeNull();
});

test("a line is read as it was written, whatever its texts are", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(job.id, "ab".repeat(32)), prefixed);
  const anyJob = fc.record({
    tenantId: text,
    userId: text,
    type: text,
    queueKey: text,
    idempotencyKey: text,
    requestHash: fc.option(text),
    limitsDefaulted: fc.option(text),
    priority: fc.integer(),
    attemptsChosen: fc.boolean(),
    seq: fc.maxSafeNat(),
    createdAt: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
    runAt: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
    queueTtlSec: fc.option(fc.nat()),
    terms: fc.option(fc.string({ unit: "binary", minLength: 1 })),
  });
  fc.assert(
    fc.property(anyJob, (parts) => {
      const { documentSha256: _, ...line } = { ...job, ...parts };
      expect(lineOf(line)).toEqual(line);
    }),
  );
});
