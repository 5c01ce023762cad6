import { WritError } from "../core/errors.ts";
import { type StorageRight, storageMethods } from "../core/storage-policy.ts";
import type { JsonObject, JsonValue } from "../core/text/json-value.ts";
import { canonicalize } from "./canonical.ts";
import { type SigningKey, signaturePrefix, signText, type VerifyingKey, verifyText } from "./ed25519.ts";
import { parseJson } from "./parse-json.ts";

/**
 * What one attempt may do itself, without its worker's token: act for its own job, and use storage as its policy
 * allows. Whether the attempt still holds its lease is not part of the token; ask the store at each use.
 * Why: ADR 0016, ADR 0092.
 */
export type JobToken = {
  jobId: string;
  attempt: number;
  tenantId: string;
  workerId: string;
  policy: StorageRight[];
  issuedAtTs: number;
  expiresAtTs: number;
};

/** The key with this id, if its signatures are valid at this moment. */
type JobTokenKeys = { verifierFor(keyId: string, nowMs: number): VerifyingKey | null };

/** Half of what Node accepts for all headers of a request; the longest policy makes a token of two thirds of this. */
export const jobTokenCharsMax = 8192;

/** From hub to hub: no other program makes these tokens or needs to read them. */
const party = "writ-hub";

/**
 * The whole header is fixed except for the key id. A header that names another algorithm, type, extension or key source
 * is not parsed at all, so it cannot mislead.
 */
const tokenHeader = /^\{"alg":"EdDSA","kid":"([0-9a-f]{16})","typ":"writ-job\+jwt"\}$/;

/** Object, list, right. */
const depthMax = 3;

/**
 * A JWT. The signed text begins with base64url of `{"`, and every other text that the hub's keys sign is JSON and
 * begins with `{`, so a signature of one kind cannot be used as the other.
 */
export function makeJobToken(key: SigningKey, token: JobToken): string {
  const header = encode(`{"alg":"EdDSA","kid":"${key.keyId}","typ":"writ-job+jwt"}`);
  const signed = `${header}.${encode(payloadText(token))}`;
  const signature = Buffer.from(signText(key, signed).slice(signaturePrefix.length), "base64");
  return `${signed}.${signature.toString("base64url")}`;
}

/** Reads what `makeJobToken` wrote with a valid key. Anything else is UNAUTHENTICATED and is never quoted. */
export function verifyJobToken(keys: JobTokenKeys, text: string, nowMs: number): JobToken {
  if (typeof text !== "string" || text.length > jobTokenCharsMax)
    throw refusal("it is too long, or not a string");
  const [header = "", payload = "", signature = "", ...more] = text.split(".");
  if (more.length > 0 || signature === "") throw refusal("it does not have three parts");

  const keyId = tokenHeader.exec(decode(header).toString("latin1"))?.[1];
  if (keyId === undefined) throw refusal("its header is not the header of a job token");
  const key = keys.verifierFor(keyId, nowMs);
  if (key === null) throw refusal("the key that it names may not sign now");
  const standard = `${signaturePrefix}${decode(signature).toString("base64")}`;
  if (!verifyText(key, `${header}.${payload}`, standard)) throw refusal("its signature does not verify");

  const token = readPayload(decode(payload).toString("utf8"));
  if (token.expiresAtTs * 1000 <= nowMs) {
    throw refusal("it has expired; get a new one with POST /jobs/:id/token while the lease lasts");
  }
  return token;
}

/** Whether a token was made by a hub of Writ. Its holder cannot verify it, but can see what it is. */
export function isWritToken(text: string): boolean {
  const [header = "", payload, signature, ...more] = text.split(".");
  const isWhole = payload !== undefined && signature !== undefined && more.length === 0;
  return isWhole && tokenHeader.test(Buffer.from(header, "base64url").toString("latin1"));
}

/** How long a token is valid from its beginning, for its holder; null for one that does not say so. */
export function jobTokenLifeMs(text: string): number | null {
  try {
    const { issuedAtTs, expiresAtTs } = readPayload(decode(text.split(".")[1] ?? "").toString("utf8"));
    return (expiresAtTs - issuedAtTs) * 1000;
  } catch (error) {
    if (error instanceof WritError) return null;
    throw error;
  }
}

function payloadText(token: JobToken): string {
  return canonicalize({
    iss: party,
    aud: party,
    iat: token.issuedAtTs,
    exp: token.expiresAtTs,
    job_id: token.jobId,
    attempt: token.attempt,
    tenant_id: token.tenantId,
    worker_id: token.workerId,
    storage_access_policy: token.policy,
  });
}

/** Serialised again it must be the same text: then it has exactly these fields and this audience. */
function readPayload(text: string): JobToken {
  const fields = readObject(text);
  const token = {
    jobId: fields["job_id"],
    attempt: fields["attempt"],
    tenantId: fields["tenant_id"],
    workerId: fields["worker_id"],
    policy: fields["storage_access_policy"],
    issuedAtTs: fields["iat"],
    expiresAtTs: fields["exp"],
  };
  if (!isJobToken(token) || payloadText(token) !== text)
    throw refusal("it does not have the fields of a job token");
  return { ...token, policy: token.policy.map((right) => ({ ...right })) };
}

function readObject(text: string): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(text, { maxDepth: depthMax });
  } catch (error) {
    // The message of the parser may quote a key of the untrusted text.
    if (error instanceof WritError) throw refusal("it does not contain a JSON object");
    throw error;
  }
  if (!isObject(value)) throw refusal("it does not contain a JSON object");
  return value;
}

function isJobToken(value: { [field in keyof JobToken]: unknown }): value is JobToken {
  const { jobId, tenantId, workerId, attempt, issuedAtTs, expiresAtTs, policy } = value;
  return (
    [jobId, tenantId, workerId].every((name) => typeof name === "string" && name !== "") &&
    [attempt, issuedAtTs, expiresAtTs].every((number) => Number.isSafeInteger(number)) &&
    Array.isArray(policy) &&
    policy.every(isRight)
  );
}

function isRight(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { folderId, prefix, method, ...more } = value;
  const isText = typeof folderId === "string" && typeof prefix === "string";
  return isText && storageMethods.some((known) => known === method) && Object.keys(more).length === 0;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === null;
}

function encode(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}

/** Buffer accepts many spellings of the same bytes; only the one that it would write itself is accepted here. */
function decode(part: string): Buffer {
  const bytes = Buffer.from(part, "base64url");
  if (bytes.toString("base64url") !== part) throw refusal("it is not in base64url");
  return bytes;
}

function refusal(reason: string): WritError {
  return new WritError("UNAUTHENTICATED", `the job token is refused: ${reason}`);
}
