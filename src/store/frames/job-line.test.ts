import fc from "fast-check";
import { expect, test } from "vitest";
import { differingColumns, type LinedJob, lineColumns, writeJobLine } from "./job-line.ts";

const job: LinedJob = {
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
};

const others: LinedJob = {
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
  limitsDefaulted: "",
  documentSha256: "cd".repeat(32),
  idempotencyKey: "",
  requestHash: "",
};

test.each(lineColumns)("a row whose %s was edited differs from its line in that column", (column) => {
  const edited = { ...job, [column]: others[column] };
  expect(differingColumns(edited, writeJobLine(job))).toEqual([column]);
});

test("a row with the line of another job, or with none, differs", () => {
  expect(differingColumns(job, writeJobLine(others))).toEqual([...lineColumns]);
  for (const line of ["", "null", "{}", "[", "no line"])
    expect(differingColumns(job, line)).toEqual([...lineColumns]);
});

test("a row is the same as its line whatever its texts are, and no two jobs have one line", () => {
  const text = fc.string({ unit: "binary" });
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
  });
  fc.assert(
    fc.property(anyJob, anyJob, (one, other) => {
      const [a, b] = [
        { ...job, ...one },
        { ...job, ...other },
      ];
      expect(differingColumns(a, writeJobLine(a))).toEqual([]);
      expect(writeJobLine(a) === writeJobLine(b)).toBe(differingColumns(b, writeJobLine(a)).length === 0);
    }),
  );
});
