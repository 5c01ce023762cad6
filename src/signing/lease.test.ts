import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalize } from "./canonical.ts";
import { batchText, type Lease, leaseText, parseLease } from "./lease.ts";
import { sha256Hex } from "./mac.ts";

const invalid = expect.objectContaining({ code: "LEASE_INVALID" });

function buildLease(changes: Partial<Lease> = {}): Lease {
  return {
    job_id: "018f2b6e-7b1c-7c3a-9d2e-000000000001",
    attempt: 1,
    worker_id: "worker-1",
    document_sha256: "ab".repeat(32),
    timeout_sec: 300,
    issued_at_ts: 1_763_200_000,
    expires_at_ts: 1_763_200_060,
    token: "token",
    ...changes,
  };
}

describe("a lease is refused", () => {
  const changes: [string, Record<string, unknown>][] = [
    ["an attempt of 0", { attempt: 0 }],
    ["an attempt with a fraction", { attempt: 1.5 }],
    ["an attempt as text", { attempt: "1" }],
    ["a timeout below 0", { timeout_sec: -1 }],
    ["a timeout of -0", { timeout_sec: -0 }],
    ["an end before its beginning", { expires_at_ts: 1_763_199_999 }],
    ["an end that is not a number", { expires_at_ts: Number.NaN }],
    ["an empty job_id", { job_id: "" }],
    ["a worker_id that is not text", { worker_id: 7 }],
    ["no token", { token: undefined }],
    ["a hash in capitals", { document_sha256: "AB".repeat(32) }],
    ["an empty boot_id", { boot_id: "" }],
    ["a boot_id that is null", { boot_id: null }],
    ["no names in limits_defaulted", { limits_defaulted: [] }],
    ["limits_defaulted that are not a list", { limits_defaulted: "cpu" }],
    ["a name in limits_defaulted that is not text", { limits_defaulted: ["cpu", 1] }],
    ["a short hash", { document_sha256: "ab" }],
    ["a hash with a line feed behind it", { document_sha256: `${"ab".repeat(32)}\n` }],
  ];
  test.each(changes)("with %s", (_name, change) => {
    const lease = { ...buildLease(), ...change } as Lease;
    expect(() => leaseText(lease)).toThrow(invalid);
    expect(() => parseLease(JSON.stringify(lease))).toThrow(invalid);
  });

  const text = leaseText(buildLease());
  const texts: [string, string][] = [
    ["an added field", `${text.slice(0, -1)},"x":1}`],
    ["another field instead of one", text.replace('"token":', '"tokem":')],
    ["a decimal attempt", text.replace('"attempt":1', '"attempt":1.0')],
    ["a duplicate key", text.replace('{"attempt":1', '{"attempt":2,"attempt":1')],
    ["a space", text.replace(":", ": ")],
    ["another order", JSON.stringify(buildLease())],
    ["a nested value", text.replace('"token"', '"token":{},"t"')],
    ["an array", "[]"],
    ["a number", "1.5"],
    ["null", "null"],
    ["nothing", ""],
  ];
  test.each(texts)("as text with %s", (_name, changed) => {
    expect(() => parseLease(changed)).toThrow(invalid);
  });
});

test("leaseText is the canonical form, and parseLease reads it back", () => {
  const name = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
  const lease = fc.record({
    job_id: name,
    worker_id: name,
    token: name,
    attempt: fc.integer({ min: 1 }),
    timeout_sec: fc.nat(604_800),
    issued_at_ts: fc.nat(),
    document_sha256: fc.uint8Array().map((bytes) => sha256Hex(bytes)),
  });
  const newer = fc.record(
    { boot_id: name, limits_defaulted: fc.array(name, { minLength: 1, maxLength: 5 }) },
    { requiredKeys: [] },
  );
  const property = fc.property(lease, newer, (it, more) => {
    const built = { ...it, ...more, expires_at_ts: it.issued_at_ts + 60 };
    const text = leaseText(built);
    expect(text).toBe(canonicalize(built));
    expect(parseLease(text)).toEqual(built);
  });
  fc.assert(property, { numRuns: 500 });
});

test("batchText is the canonical form of the hashes and the worker's name", () => {
  const texts = [leaseText(buildLease()), leaseText(buildLease({ attempt: 2 }))];
  const jobs = texts.map((text, index) => ({ documentSha256: sha256Hex(String(index)), leaseText: text }));
  const expected = {
    jobs: jobs.map((job) => [job.documentSha256, sha256Hex(job.leaseText)]),
    worker_id: 'é"1',
  };
  expect(batchText({ workerId: 'é"1', jobs })).toBe(canonicalize(expected));
  expect(batchText({ workerId: "w", jobs: [] })).toBe('{"jobs":[],"worker_id":"w"}');
});
