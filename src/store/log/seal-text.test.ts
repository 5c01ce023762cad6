import { expect, test } from "vitest";
import { auditRecord, auditText } from "./audit-record.ts";
import { sealText } from "./seal-text.ts";
import { readEvent, type StoredEvent } from "./stored-event.ts";

const sealed = { severity: "LOW", prevHash: "0".repeat(64) } as const;

function buildRow(details: object, parts: Partial<StoredEvent> = {}): StoredEvent {
  return {
    seq: 7,
    ts: 1_763_200_000_123,
    event: "JOB_ASSIGNED",
    tenantId: "acme",
    jobId: "018f2b6e-7b1c-7c3a-9d2e-000000000001",
    ownerId: "u1",
    jobSeq: 2,
    details: JSON.stringify(details),
    origin: JSON.stringify({
      userId: "u1",
      ipAddress: "::1",
      userAgent: 'a "b"',
      endpoint: "/jobs",
      method: "POST",
    }),
    ...parts,
  };
}

const rows: [string, StoredEvent][] = [
  ["nothing in it", buildRow({})],
  ["names before and after the job's", buildRow({ type: "a", attempt: 1, fail_code: null, worker_id: "w" })],
  ["a name for the job of its own", buildRow({ job_id: "another", reason: "x" })],
  ["an object that names a job too", buildRow({ about: { job_id: "x" }, z: [{ job_id: 1 }] })],
  ["letters beyond ASCII", buildRow({ é: "ß", reason: "\u{1f600}", "\uffff": 1 })],
  ["a decimal", buildRow({ progress: 0.1 })],
  ["a number that no integer holds", buildRow({ count: 2 ** 60 })],
  ["half of a surrogate pair", buildRow({ reason: "\ud800" })],
  ["no job", buildRow({ reason: "x" }, { jobId: null, jobSeq: null })],
  ["no origin", buildRow({ reason: "x" }, { origin: null })],
];

test.each(rows)("what is sealed is the record's own text, also the second time: %s", (_, row) => {
  const expected = auditText(auditRecord(readEvent(row), sealed));
  expect(sealText(row, sealed)).toBe(expected);
  expect(sealText(row, sealed)).toBe(expected);
});

test("two jobs of which the same is said are told apart", () => {
  const other = buildRow({ attempt: 1 }, { jobId: "018f2b6e-7b1c-7c3a-9d2e-000000000002" });
  expect(sealText(other, sealed)).not.toBe(sealText(buildRow({ attempt: 1 }), sealed));
});
