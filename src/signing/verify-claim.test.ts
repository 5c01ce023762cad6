import { describe, expect, test } from "vitest";
import type { JsonObject } from "../core/text/json-value.ts";
import { canonicalize } from "./canonical.ts";
import { generateSigningKey, loadVerifyingKey, type SigningKey, signText } from "./ed25519.ts";
import { batchText, type Lease, leaseText } from "./lease.ts";
import { sha256Hex } from "./mac.ts";
import { verifyBatch, verifyClaim } from "./verify-claim.ts";

const nowTs = 1_763_200_000;
const nowMs = nowTs * 1000;
const workerId = "worker-1";
const hub = generateSigningKey().signingKey;
const stranger = generateSigningKey().signingKey;
const trusted = [loadVerifyingKey(hub.publicKeyPem)];

type Claim = Parameters<typeof verifyClaim>[0]["claim"];

function buildDocument(changes: JsonObject = {}): string {
  return canonicalize({ job_id: "job-1", type: "exec", run: { kind: "exec", command: "true" }, ...changes });
}

function buildLease(document: string, changes: Partial<Lease> = {}): string {
  return leaseText({
    job_id: "job-1",
    attempt: 1,
    worker_id: workerId,
    document_sha256: sha256Hex(document),
    timeout_sec: 300,
    issued_at_ts: nowTs,
    expires_at_ts: nowTs + 60,
    token: "t",
    ...changes,
  });
}

function signClaim(document: string, lease: string, key: SigningKey = hub): Claim {
  const signature = signText(key, document);
  return { document, lease, signature, lease_signature: signText(key, lease), key_id: key.keyId };
}

function buildClaim(leaseChanges: Partial<Lease> = {}): Claim {
  const document = buildDocument();
  return signClaim(document, buildLease(document, leaseChanges));
}

function refusalOf(claim: unknown, at: { nowMs?: number; skewMs?: number } = {}): unknown {
  try {
    verifyClaim({ trusted, workerId, nowMs, ...at, claim: claim as Claim });
  } catch (error) {
    return (error as { code?: unknown }).code ?? error;
  }
  return "accepted";
}

function flipBit(text: string, index: number): string {
  const flipped = String.fromCharCode(text.charCodeAt(index) ^ 1);
  return text.slice(0, index) + flipped + text.slice(index + 1);
}

describe("verifyClaim refuses a signature", () => {
  const claim = buildClaim();

  test.each(["document", "lease", "signature", "lease_signature"] as const)(
    "with one bit flipped in %s",
    (field) => {
      for (let index = 0; index < claim[field].length; index++) {
        expect(refusalOf({ ...claim, [field]: flipBit(claim[field], index) })).toBe("INVALID_SIGNATURE");
      }
    },
  );

  test.each([undefined, "", null, [], {}, 7, "base64:", `base64:${claim.signature}`])(
    "that is %j",
    (signature) => {
      expect(refusalOf({ ...claim, signature })).toBe("INVALID_SIGNATURE");
      expect(refusalOf({ ...claim, lease_signature: signature })).toBe("INVALID_SIGNATURE");
    },
  );

  test("over a document or a lease that is not text", () => {
    expect(refusalOf({ ...claim, document: { job_id: "job-1" } })).toBe("INVALID_SIGNATURE");
    expect(refusalOf({ ...claim, lease: null })).toBe("INVALID_SIGNATURE");
  });

  test("by a key that is not trusted", () => {
    expect(refusalOf(signClaim(claim.document, claim.lease, stranger))).toBe("KEY_NOT_TRUSTED");
  });

  test("by a stranger under the id of a trusted key", () => {
    const forged = { ...signClaim(claim.document, claim.lease, stranger), key_id: hub.keyId };
    expect(refusalOf(forged)).toBe("INVALID_SIGNATURE");
  });

  test.each(["", "../../x", "__proto__", undefined, null, 0, []])("under the key id %j", (keyId) => {
    expect(refusalOf({ ...claim, key_id: keyId })).toBe("KEY_NOT_TRUSTED");
  });

  test("that stands behind the fourth place of a long list", () => {
    const other = { key_id: stranger.keyId, signature: claim.signature };
    const good = { key_id: hub.keyId, signature: claim.signature };
    const renamed = { ...claim, key_id: stranger.keyId };
    const far = [other, other, other, ...Array.from({ length: 10_000 }, () => good)];
    expect(refusalOf({ ...renamed, signatures: far })).toBe("KEY_NOT_TRUSTED");
    expect(refusalOf({ ...renamed, signatures: [other, other, good] })).toBe("accepted");
  });

  test("in a list that is not one", () => {
    for (const signatures of [null, "x", {}, [null], [7]]) {
      expect(refusalOf({ ...claim, key_id: "x", signatures })).toBe("KEY_NOT_TRUSTED");
    }
  });

  test("when document and lease are signed by two different trusted keys", () => {
    const both = [...trusted, loadVerifyingKey(stranger.publicKeyPem)];
    const mixed = { ...claim, lease_signature: signText(stranger, claim.lease) };
    expect(() => verifyClaim({ trusted: both, workerId, nowMs, claim: mixed })).toThrow(
      expect.objectContaining({ code: "INVALID_SIGNATURE" }),
    );
  });
});

describe("verifyClaim refuses a signed lease", () => {
  const changes: [string, Partial<Lease>][] = [
    ["another worker", { worker_id: "worker-2" }],
    ["another document", { document_sha256: sha256Hex("other") }],
    ["another job", { job_id: "job-2" }],
    ["a time that is over", { issued_at_ts: nowTs - 100, expires_at_ts: nowTs - 31 }],
    ["a time that is to come", { issued_at_ts: nowTs + 31 }],
  ];
  test.each(changes)("for %s", (_name, change) => {
    expect(refusalOf(buildClaim(change))).toBe("LEASE_INVALID");
  });

  test("that is not a lease", () => {
    const document = buildDocument();
    for (const lease of ["{}", "", "null", document, `${buildLease(document)} `]) {
      expect(refusalOf(signClaim(document, lease))).toBe("LEASE_INVALID");
    }
  });

  test("one millisecond beyond the skew, and not before", () => {
    const expired = buildClaim({ issued_at_ts: nowTs - 100, expires_at_ts: nowTs });
    expect(refusalOf(expired, { nowMs: nowMs + 30_000 })).toBe("accepted");
    expect(refusalOf(expired, { nowMs: nowMs + 30_001 })).toBe("LEASE_INVALID");
    expect(refusalOf(expired, { nowMs: nowMs + 1, skewMs: 0 })).toBe("LEASE_INVALID");
    expect(refusalOf(buildClaim(), { nowMs: nowMs - 30_000 })).toBe("accepted");
    expect(refusalOf(buildClaim(), { nowMs: nowMs - 30_001 })).toBe("LEASE_INVALID");
  });
});

describe("verifyClaim refuses a signed document", () => {
  const documents: [string, string][] = [
    ["a space", '{"job_id": "job-1"}'],
    ["keys out of order", '{"type":"exec","job_id":"job-1"}'],
    ["a duplicate key", '{"job_id":"job-1","job_id":"job-1"}'],
    ["raw text outside ASCII", '{"job_id":"job-1","type":"é"}'],
    ["a decimal spelled otherwise", '{"job_id":"job-1","x":1.50}'],
    ["too many levels", `{"job_id":"job-1","x":${"[".repeat(64)}${"]".repeat(64)}}`],
    ["an array around it", '[{"job_id":"job-1"}]'],
    ["no JSON in it", "job-1"],
  ];
  test.each(documents)("with %s", (_name, document) => {
    expect(refusalOf(signClaim(document, buildLease(document)))).toBe("INVALID_DOCUMENT");
  });
});

test("verifyClaim answers with what was signed and ignores what stands beside it", () => {
  const claim = { ...buildClaim(), timeout_sec: 9, env: { A: "b" }, repo_root: "/" };
  const verified = verifyClaim({ trusted, workerId, nowMs, claim });
  expect(Object.keys(verified).sort()).toEqual([
    "document",
    "documentSha256",
    "documentText",
    "isPlain",
    "lease",
    "signedSha256",
  ]);
  expect(verified.signedSha256).toBe(sha256Hex(claim.lease));
  expect(verified.documentText).toBe(claim.document);
  expect(verified.documentSha256).toBe(sha256Hex(claim.document));
  expect(canonicalize(verified.document)).toBe(claim.document);
  expect(leaseText(verified.lease)).toBe(claim.lease);
});

test("a second attempt needs a new lease only: the document and its signature stay", () => {
  const first = buildClaim();
  const lease = buildLease(first.document, { attempt: 2, token: "u" });
  const second = { ...first, lease, lease_signature: signText(hub, lease) };
  expect(verifyClaim({ trusted, workerId, nowMs, claim: second }).lease.attempt).toBe(2);
});

describe("verifyBatch", () => {
  const jobs = ["job-1", "job-2", "job-3"].map((jobId) => {
    const document = buildDocument({ job_id: jobId });
    return { document, lease: buildLease(document, { job_id: jobId }) };
  });

  function signBatch(signed: typeof jobs, forWorker = workerId, key: SigningKey = hub) {
    const hashed = signed.map((job) => ({ documentSha256: sha256Hex(job.document), leaseText: job.lease }));
    return { key_id: key.keyId, signature: signText(key, batchText({ workerId: forWorker, jobs: hashed })) };
  }

  function batchRefusalOf(batch: ReturnType<typeof signBatch>, delivered: typeof jobs): unknown {
    try {
      verifyBatch({ trusted, workerId, nowMs, batch, jobs: delivered });
    } catch (error) {
      return (error as { code?: unknown }).code ?? error;
    }
    return "accepted";
  }

  test("refuses a job added, left out, exchanged, repeated or moved", () => {
    const batch = signBatch(jobs);
    const [a, b, c] = jobs as [(typeof jobs)[0], (typeof jobs)[0], (typeof jobs)[0]];
    const swapped = [{ document: a.document, lease: b.lease }, { document: b.document, lease: a.lease }, c];
    for (const delivered of [[a, b], [a, b, c, c], [b, a, c], [a, a, c], swapped, []]) {
      expect(batchRefusalOf(batch, delivered)).toBe("INVALID_SIGNATURE");
    }
  });

  test("refuses one bit flipped in any document, any lease or the signature", () => {
    const batch = signBatch(jobs);
    jobs.forEach((job, at) => {
      for (const field of ["document", "lease"] as const) {
        for (let index = 0; index < job[field].length; index += 7) {
          const changed = { ...job, [field]: flipBit(job[field], index) };
          expect(batchRefusalOf(batch, jobs.with(at, changed))).toBe("INVALID_SIGNATURE");
        }
      }
    });
    for (let index = 0; index < batch.signature.length; index++) {
      expect(batchRefusalOf({ ...batch, signature: flipBit(batch.signature, index) }, jobs)).toBe(
        "INVALID_SIGNATURE",
      );
    }
  });

  test("refuses another worker's batch and a key that is not trusted", () => {
    expect(batchRefusalOf(signBatch(jobs, "worker-2"), jobs)).toBe("INVALID_SIGNATURE");
    expect(batchRefusalOf(signBatch(jobs, workerId, stranger), jobs)).toBe("KEY_NOT_TRUSTED");
  });

  test("refuses a signed batch with one bad lease or one bad document in it", () => {
    const document = buildDocument();
    const foreign = { document, lease: buildLease(document, { worker_id: "worker-2" }) };
    expect(batchRefusalOf(signBatch([...jobs, foreign]), [...jobs, foreign])).toBe("LEASE_INVALID");
    const spaced = '{"job_id": "job-1"}';
    const loose = { document: spaced, lease: buildLease(spaced) };
    expect(batchRefusalOf(signBatch([...jobs, loose]), [...jobs, loose])).toBe("INVALID_DOCUMENT");
  });

  test("gives back every job of a good batch in its order", () => {
    const verified = verifyBatch({ trusted, workerId, nowMs, batch: signBatch(jobs), jobs });
    expect(verified.map((claim) => claim.lease.job_id)).toEqual(["job-1", "job-2", "job-3"]);
    expect(verified.map((claim) => claim.documentText)).toEqual(jobs.map((job) => job.document));
  });
});
