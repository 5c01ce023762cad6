import { WritError } from "../core/errors.ts";
import type { JsonValue } from "../core/text/json-value.ts";
import { canonicalize, canonicalString } from "./canonical.ts";
import { loadVerifyingKey, type SigningKey, signText, type VerifyingKey, verifyText } from "./ed25519.ts";
import { parseJson } from "./parse-json.ts";
import type { KeyRecord } from "./ring-file.ts";

/** All public keys of a hub under one increasing version. Why: ADR 0013. */
export type KeySet = { version: number; keys: KeyRecord[] };

/** The set as text, signed by every key that may sign. */
export type SignedKeySet = { text: string; signatures: { key_id: string; signature: string }[] };

/** More than a ring collects in twenty years of rotations; bounds the work that an untrusted list can cause. */
const keysMax = 256;
const signaturesMax = 4;

/** Object, list, key. */
const depthMax = 3;

/**
 * A key that has retired is listed as one that is retiring and whose time has ended. To a worker that is the same, and those of
 * version 0.1 know no other word for it.
 */
export function keySetText({ version, keys }: KeySet): string {
  const plain = keys.map(({ key_id, public_key, status, not_before, not_after }) => {
    return {
      key_id,
      public_key,
      status: status === "retired" ? "retiring" : status,
      not_before,
      not_after,
    };
  });
  return canonicalize({ version, keys: plain } as unknown as JsonValue);
}

export function signKeySet(text: string, signers: readonly SigningKey[]): SignedKeySet {
  return {
    text,
    signatures: signers.map((key) => ({ key_id: key.keyId, signature: signText(key, text) })),
  };
}

/** The last text that a key signs: that it is revoked. A thief of the key can use it only to revoke the key too. */
export function revocationText(keyId: string): string {
  return `{"revoke":${canonicalString(keyId)}}`;
}

/** Reads a key set that one of these keys has signed. The caller decides which keys to trust. */
export function openKeySet(trusted: readonly VerifyingKey[], signed: SignedKeySet): KeySet {
  const isVouchedFor = signed.signatures.slice(0, signaturesMax).some(({ key_id, signature }) => {
    const key = trusted.find(({ keyId }) => keyId === key_id);
    return key !== undefined && verifyText(key, signed.text, signature);
  });
  if (!isVouchedFor) throw refusal("KEY_NOT_TRUSTED", "no key that is trusted now has signed it");
  return parseKeySet(signed.text);
}

/** Reads exactly what `keySetText` writes. Every key in it is loaded, so one weak key makes the whole set invalid. */
export function parseKeySet(text: string): KeySet {
  const value = parseJson(text, { maxDepth: depthMax }) as unknown;
  const { version, keys } = (value ?? {}) as Partial<KeySet>;
  if (!Number.isSafeInteger(version) || !Array.isArray(keys) || keys.length > keysMax) {
    throw refusal("KEY_REJECTED", "it is not a key set");
  }
  for (const key of keys) checkRecord(key);
  const set = { version: version as number, keys: keys.map((key) => ({ ...key })) };
  if (keySetText(set) !== text) throw refusal("KEY_REJECTED", "it is not in canonical form");
  return set;
}

function checkRecord(record: KeyRecord): void {
  const isRecord =
    typeof record === "object" &&
    record !== null &&
    ["active", "retiring", "revoked"].includes(record.status) &&
    Number.isSafeInteger(record.not_before) &&
    (record.not_after === null || Number.isSafeInteger(record.not_after));
  if (!isRecord || loadVerifyingKey(record.public_key).keyId !== record.key_id) {
    throw refusal("KEY_REJECTED", "it contains a record that is not a key");
  }
}

function refusal(code: "KEY_REJECTED" | "KEY_NOT_TRUSTED", reason: string): WritError {
  return new WritError(code, `the key set is refused: ${reason}`);
}
