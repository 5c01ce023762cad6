import { describe, expect, test } from "vitest";
import type { JsonValue } from "../core/text/json-value.ts";
import { batchLeaseText, lineText, tokenOfAttempt } from "./batch-lease.ts";
import { canonicalize } from "./canonical.ts";
import { generateSigningKey, loadVerifyingKey, type SigningKey, signText } from "./ed25519.ts";
import { sha256Hex } from "./mac.ts";
import { type LeasedBatch, verifyBatchLease } from "./verify-batch-lease.ts";

const nowTs = 1_790_000_000;
const workerId = "w1";
const secret = "s".repeat(43);
const hub = generateSigningKey().signingKey;
const verifier = { trusted: [loadVerifyingKey(hub.publicKeyPem)], workerId, nowMs: nowTs * 1000 };
const jobId = (n: number) => `0190aaaa-0000-7000-8000-00000000000${n}`;

function jobOf(n: number, attempt = 1): LeasedBatch["jobs"][number] {
  return { document: canonicalize({ job_id: jobId(n), type: "noop" }), attempt, timeout_sec: 300 };
}

function signed(
  jobs = [jobOf(1), jobOf(2), jobOf(3)],
  { key = hub, to = workerId, until = nowTs + 60 }: { key?: SigningKey; to?: string; until?: number } = {},
): LeasedBatch {
  const lease = { boot_id: "boot", issued_at_ts: nowTs, expires_at_ts: until };
  const lines = jobs.map(({ document, ...line }) => ({ ...line, document_sha256: sha256Hex(document) }));
  const text = batchLeaseText({ ...lease, worker_id: to }, secret, lines);
  return { lease, secret, batch: { key_id: key.keyId, signature: signText(key, text) }, jobs };
}

function refusalOf(batch: LeasedBatch): string {
  try {
    verifyBatchLease(verifier, batch);
  } catch (error) {
    return (error as { code: string }).code;
  }
  return "accepted";
}

test("each job has a lease of its own, whose token follows from the secret, the id and the attempt", () => {
  const verified = verifyBatchLease(verifier, signed([jobOf(1), jobOf(1, 2), jobOf(2)]));
  expect(verified.map(({ lease }) => [lease.job_id, lease.attempt])).toEqual([
    [jobId(1), 1],
    [jobId(1), 2],
    [jobId(2), 1],
  ]);
  const tokens = verified.map(({ lease }) => lease.token);
  expect(new Set(tokens).size).toBe(3);
  expect(tokens[1]).toBe(tokenOfAttempt(secret, jobId(1), 2));
  expect(tokens[1]).toMatch(/^[\w-]{43}$/);
  expect(verified[0]?.lease).toMatchObject({ worker_id: workerId, boot_id: "boot", timeout_sec: 300 });
});

test("what is signed is canonical, and names neither a job nor a token", () => {
  const lease = { boot_id: "b", issued_at_ts: 1, expires_at_ts: 2, worker_id: "w\u00e9" };
  const line = { attempt: 1, document_sha256: "d", limits_defaulted: ["cpu"], timeout_sec: 3 };
  const lines = [lineText(line), lineText({ ...line, limits_defaulted: undefined })];
  const { limits_defaulted: _, ...plain } = line;
  expect(lines).toEqual([canonicalize(line), canonicalize(plain)]);
  const whole = { ...lease, lines: lines.map(sha256Hex), secret_sha256: sha256Hex(secret) };
  expect(batchLeaseText(lease, secret, [line, plain])).toBe(canonicalize(whole as JsonValue));
  const { boot_id: __, ...unbound } = lease;
  expect(JSON.parse(batchLeaseText(unbound, secret, [plain]))).not.toHaveProperty("boot_id");
});

describe("a batch is refused as a whole", () => {
  const [first, second, third] = signed().jobs as [
    LeasedBatch["jobs"][number],
    LeasedBatch["jobs"][number],
    LeasedBatch["jobs"][number],
  ];
  test.each<[string, Partial<LeasedBatch>]>([
    ["a line is left out", { jobs: [first, second] }],
    ["a line is added", { jobs: [first, second, third, jobOf(4)] }],
    ["a line is there twice", { jobs: [first, second, third, third] }],
    ["two lines are swapped", { jobs: [second, first, third] }],
    [
      "two documents are swapped",
      { jobs: [{ ...first, document: second.document }, { ...second, document: first.document }, third] },
    ],
    [
      "a document is altered",
      { jobs: [{ ...first, document: first.document.replace("noop", "evil") }, second, third] },
    ],
    ["an attempt is altered", { jobs: [{ ...first, attempt: 2 }, second, third] }],
    ["a timeout is altered", { jobs: [{ ...first, timeout_sec: 301 }, second, third] }],
    ["limits are altered", { jobs: [{ ...first, limits_defaulted: ["cpu"] }, second, third] }],
    ["the secret is altered", { secret: "t".repeat(43) }],
    [
      "the process is altered",
      { lease: { boot_id: "other", issued_at_ts: nowTs, expires_at_ts: nowTs + 60 } },
    ],
    ["the process is left out", { lease: { issued_at_ts: nowTs, expires_at_ts: nowTs + 60 } }],
    ["the end is later", { lease: { boot_id: "boot", issued_at_ts: nowTs, expires_at_ts: nowTs + 61 } }],
    ["there is no signature", { batch: { key_id: hub.keyId, signature: "" } }],
  ])("when %s", (_, changes) => {
    expect(refusalOf({ ...signed(), ...changes })).toBe("INVALID_SIGNATURE");
  });

  test("when it is for another worker, by another key, or too old", () => {
    expect(refusalOf(signed(undefined, { to: "w2" }))).toBe("INVALID_SIGNATURE");
    const stranger = generateSigningKey().signingKey;
    expect(refusalOf(signed(undefined, { key: stranger }))).toBe("KEY_NOT_TRUSTED");
    expect(refusalOf(signed(undefined, { until: nowTs }))).toBe("accepted");
    expect(refusalOf(signed(undefined, { until: nowTs - 31 }))).toBe("LEASE_INVALID");
  });

  test("when a signed document is not canonical, or names no job", () => {
    for (const document of ['{"type":"a","job_id":"x"}', '{"type":"a"}', "[]", "{"])
      expect(refusalOf(signed([{ ...jobOf(1), document }]))).toBe("INVALID_DOCUMENT");
  });
});
