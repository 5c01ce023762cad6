import { expect, test } from "vitest";
import type { LoggedEvent } from "../../core/events.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { parseJson } from "../../signing/parse-json.ts";
import { auditHash, auditRecord, auditText, firstHash } from "./audit-record.ts";

const event: LoggedEvent = {
  seq: 7,
  event: "JOB_CREATED",
  ts: 1_700_000_000_123,
  tenantId: "acme",
  jobId: "01890000-0000-7000-8000-000000000000",
  jobSeq: 1,
  ownerId: "alice",
  details: { b: 1, a: [1.5, "é😀", null, { z: true, y: -0.25 }] },
  origin: { userId: "alice", ipAddress: "::1", userAgent: 'a "b"', endpoint: "/jobs", method: "POST" },
};
const sealed = { severity: "LOW", prevHash: firstHash } as const;

test("the text is the canonical form of the record", () => {
  const record = auditRecord(event, sealed);
  expect(auditText(record)).toBe(canonicalize(parseJson(JSON.stringify(record))));
});

test("what has no canonical form still has a hash, and one that depends on all of it", () => {
  const odd = auditRecord({ ...event, details: { note: "\ud800" } }, sealed);
  const other = auditRecord({ ...event, details: { note: "\ud801" } }, sealed);
  expect(auditHash(odd)).toMatch(/^[0-9a-f]{64}$/);
  expect(auditHash(odd)).not.toBe(auditHash(other));
});
