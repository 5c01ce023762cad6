import fc from "fast-check";
import { expect, test } from "vitest";
import type { LoggedEvent } from "../../core/events.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { parseJson } from "../../signing/parse-json.ts";
import { auditRecord, auditText, firstHash } from "./audit-record.ts";

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

test("the text is the canonical form of the record, whatever shape its details have", () => {
  const names = fc.string({ unit: "binary" }).filter((name) => name !== "__proto__" && name !== "job_id");
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue({ noUnicodeString: false })), (details) => {
      const record = auditRecord({ ...event, details: JSON.parse(JSON.stringify(details)) }, sealed);
      const text = JSON.stringify(record);
      // Such whole numbers are written as decimals, which strict JSON reads in another way.
      fc.pre(!text.includes('"__proto__"') && !/\d{16}/.test(JSON.stringify(record.details)));
      expect(auditText(record)).toBe(canonicalize(parseJson(text)));
    }),
    { numRuns: 300 },
  );
});
