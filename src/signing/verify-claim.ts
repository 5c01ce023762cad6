import { WritError } from "../core/errors.ts";
import type { JsonObject, JsonValue } from "../core/text/json-value.ts";
import { canonicalize, readPlainly } from "./canonical.ts";
import { type VerifyingKey, verifyText } from "./ed25519.ts";
import { batchText, type Lease, parseLease } from "./lease.ts";
import { sha256Hex } from "./mac.ts";
import { parseJson } from "./parse-json.ts";

/** What a worker may act on: everything here comes from bytes whose signature was checked. */
export type VerifiedClaim = {
  document: JsonObject;
  /** It contains no Decimal, so it is already what `toPlain` would make of it. */
  isPlain: boolean;
  documentText: string;
  documentSha256: string;
  lease: Lease;
  /** The SHA-256 of what the hub signed: the lease, or what one signature covers for a whole batch. */
  signedSha256: string;
};

/** The worker that checks, and when. */
export type Verifier = {
  trusted: VerifyingKey[];
  workerId: string;
  nowMs: number;
  skewMs?: number;
  /** Counts the cost of the checks. */
  tally?: { verifications: number };
};

/** A signature by one of the keys; a single claim has one more over its lease. */
export type Signature = { key_id: string; signature: string; lease_signature?: string | undefined };

type Claim = Signature & {
  document: string;
  lease: string;
  lease_signature: string;
  signatures?: Signature[] | undefined;
};

/** How far the clocks of hub and worker may differ. */
const skewMsDefault = 30_000;

/** Twice the two keys of a rotation; a longer list would only let a stranger use our processor. */
const signaturesMax = 4;

/**
 * Checks one claimed job. Bytes are verified before they are parsed; nothing is repaired, and nothing is only a
 * warning. Why: ADR 0006, ADR 0099.
 */
export function verifyClaim(input: Verifier & { claim: Claim }): VerifiedClaim {
  // Read once, so that the text that is checked, hashed and parsed below is the same, whatever kind of object was
  // passed.
  const claim = { ...input.claim };
  const { key, by } = keyThatSigned(input, claim, { text: claim.document, what: "The document" });
  // Both must be signed by the same key, so that no half of a claim can come from another key's time.
  if (!isSigned(input, key, claim.lease, by.lease_signature ?? claim.lease_signature)) {
    throw badSignature("The lease");
  }
  return checkContents(input, claim, {
    documentSha256: sha256Hex(claim.document),
    signedSha256: sha256Hex(claim.lease),
  });
}

/** Checks a batch under one signature that covers every document, every lease and the worker's name. */
export function verifyBatch(
  input: Verifier & {
    batch: Signature & { signatures?: Signature[] | undefined };
    jobs: { document: string; lease: string }[];
  },
): VerifiedClaim[] {
  const read = input.jobs.map(({ document, lease }) => ({ document, lease }));
  const hashes = read.map((job) => sha256Hex(job.document));
  const jobs = read.map((job, index) => ({
    documentSha256: hashes[index] as string,
    leaseText: job.lease,
  }));
  const text = batchText({ workerId: input.workerId, jobs });
  keyThatSigned(input, input.batch, { text, what: "The batch" });
  const signedSha256 = sha256Hex(text);
  return read.map((job, index) =>
    checkContents(input, job, { documentSha256: hashes[index] as string, signedSha256 }),
  );
}

/** The key id is only a hint about which trusted key to try; an unknown id is refused. */
export function keyThatSigned(
  verifier: Verifier,
  offered: Signature & { signatures?: Signature[] | undefined },
  signed: { text: string; what: string },
): { key: VerifyingKey; by: Signature } {
  const others = Array.isArray(offered.signatures) ? offered.signatures : [];
  let isAnyTrusted = false;
  for (const by of [offered, ...others.slice(0, signaturesMax - 1)]) {
    const key = findTrusted(verifier.trusted, by?.key_id);
    if (key === undefined) continue;
    if (isSigned(verifier, key, signed.text, by.signature)) return { key, by };
    isAnyTrusted = true;
  }
  throw isAnyTrusted ? badSignature(signed.what) : notTrusted();
}

function isSigned({ tally }: Verifier, key: VerifyingKey, text: string, signature: string): boolean {
  if (tally !== undefined) tally.verifications++;
  return verifyText(key, text, signature);
}

function findTrusted(trusted: VerifyingKey[], keyId: string): VerifyingKey | undefined {
  return trusted.find((key) => key.keyId === keyId);
}

/** The lease is checked first: it says whether the document is for this worker at all. */
function checkContents(
  verifier: Verifier,
  signed: { document: string; lease: string },
  { documentSha256, signedSha256 }: Pick<VerifiedClaim, "documentSha256" | "signedSha256">,
): VerifiedClaim {
  const lease = parseLease(signed.lease);
  checkLease(verifier, lease, documentSha256);
  const { document, isPlain } = readDocument(signed.document);
  if (document["job_id"] !== lease.job_id) throw leaseInvalid("it names another job than the document");
  return { document, isPlain, documentText: signed.document, documentSha256, lease, signedSha256 };
}

function checkLease(verifier: Verifier, lease: Lease, documentSha256: string): void {
  if (lease.worker_id !== verifier.workerId) throw leaseInvalid("it names another worker");
  if (lease.document_sha256 !== documentSha256) throw leaseInvalid("it names another document");
  checkTimes(verifier, lease);
}

export function checkTimes(verifier: Verifier, lease: Pick<Lease, "issued_at_ts" | "expires_at_ts">): void {
  const skewMs = verifier.skewMs ?? skewMsDefault;
  if (lease.expires_at_ts * 1000 + skewMs < verifier.nowMs) throw leaseInvalid("it has expired");
  if (lease.issued_at_ts * 1000 - skewMs > verifier.nowMs) throw leaseInvalid("it was issued in the future");
}

export function readDocument(text: string): Pick<VerifiedClaim, "document" | "isPlain"> {
  const plain = text.startsWith("{") ? readPlainly(text) : null;
  if (plain !== null) return { document: plain as JsonObject, isPlain: true };
  return { document: readStrictly(text), isPlain: false };
}

function readStrictly(text: string): JsonObject {
  let value: JsonValue;
  let canonical: string;
  try {
    value = parseJson(text);
    canonical = canonicalize(value);
  } catch (error) {
    if (error instanceof WritError) throw documentInvalid(error.message, { reason: error.code });
    throw error;
  }
  if (canonical !== text) throw documentInvalid("it is not in canonical form");
  if (!text.startsWith("{")) throw documentInvalid("it is not a JSON object");
  return value as JsonObject;
}

function badSignature(what: string): WritError {
  return new WritError(
    "INVALID_SIGNATURE",
    `${what} does not have a valid signature by the key that it names`,
  );
}

function notTrusted(): WritError {
  return new WritError("KEY_NOT_TRUSTED", "the claim is not signed by a key that this worker trusts");
}

function leaseInvalid(reason: string): WritError {
  return new WritError("LEASE_INVALID", `the lease is refused: ${reason}`);
}

function documentInvalid(reason: string, details?: Record<string, unknown>): WritError {
  return new WritError("INVALID_DOCUMENT", `the signed document is refused: ${reason}`, details);
}
