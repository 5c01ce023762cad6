import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createPrivateFileSync, removeFileSync } from "../runtime/files/private-file.ts";
import { generateSigningKey, loadSigningKey, type SigningKey } from "./ed25519.ts";
import { generateMacKey, macKeyBytes } from "./mac.ts";
import { type RingEntry, readRing, rejected, ringFile, ringText } from "./ring-file.ts";
import { readSecretFile } from "./secret-file.ts";

const macFile = "mac.key";

/**
 * Every file is created, never overwritten: of two hubs that start at once on one directory, the first writer wins, and
 * both then read what is there. The order is MAC key, signing key, ring.
 */
export function makeKeys(dir: string, first: { given: SigningKey | null; nowMs: number }): void {
  const left = readdirSync(dir).filter((name) => /^signing-[0-9a-f]{16}\.pem$/.test(name));
  const isMacKeyThere = hasMacKey(dir);
  if (left.length > 0 && !isMacKeyThere) throw rejected(dir, `${macFile} and ${ringFile} are missing`);
  if (left.length > 1)
    throw rejected(dir, `${ringFile} is missing, but there are ${left.length} signing keys`);
  if (!isMacKeyThere) createPrivateFileSync(join(dir, macFile), `${generateMacKey().toString("hex")}\n`);

  // A single signing key without a ring is left behind by a crash between the two writes.
  const leftKeyId = left[0]?.slice("signing-".length, -".pem".length);
  const leftKey = leftKeyId === undefined ? null : readSigningKey(dir, leftKeyId);
  const madeKey = first.given === null && leftKey === null ? makeSigningKey(dir) : null;
  const signing = (first.given ?? leftKey ?? madeKey) as SigningKey;
  const entry = activeEntry(signing, first.nowMs);
  const ring = { version: 1, keys: [first.given === null ? entry : { ...entry, given: true as const }] };
  const isFirst = createPrivateFileSync(join(dir, ringFile), ringText(ring));
  // The hub that lost the race leaves no key behind that the ring does not list.
  if (!isFirst && madeKey !== null) dropUnlisted(dir, madeKey.keyId);
}

function makeSigningKey(dir: string): SigningKey {
  const { signingKey, privateKeyPem } = generateSigningKey();
  createPrivateFileSync(join(dir, signingFile(signingKey.keyId)), privateKeyPem);
  return signingKey;
}

function dropUnlisted(dir: string, keyId: string): void {
  if (!readRing(dir).keys.some((record) => record.key_id === keyId))
    removeFileSync(join(dir, signingFile(keyId)));
}

export function activeEntry({ keyId, publicKeyPem }: SigningKey, nowMs: number): RingEntry {
  return { key_id: keyId, public_key: publicKeyPem, status: "active", not_before: nowMs, not_after: null };
}

export function readSigningKey(dir: string, keyId: string): SigningKey {
  const name = signingFile(keyId);
  const pem = readSecretFile(dir, name);
  if (pem === null)
    throw rejected(dir, `${name} is missing; restore it, or set JOB_SIGNING_PRIVATE_KEY to the same key`);
  const signing = loadSigningKey(pem);
  if (signing.keyId !== keyId) throw rejected(dir, `${name} contains the key ${signing.keyId}`);
  return signing;
}

export function hasSigningKey(dir: string, keyId: string): boolean {
  return readSecretFile(dir, signingFile(keyId)) !== null;
}

/**
 * Deletes the private halves of keys that never sign again. The ring says so first, so a crash in between leaves a file that
 * the next look finds.
 */
export function dropPrivateHalves(dir: string, keys: readonly RingEntry[]): void {
  for (const { key_id, status } of keys) {
    if ((status === "retired" || status === "revoked") && hasSigningKey(dir, key_id))
      removeFileSync(join(dir, signingFile(key_id)));
  }
}

export function hasMacKey(dir: string): boolean {
  return readSecretFile(dir, macFile) !== null;
}

export function readMacKey(dir: string): Buffer {
  const text = readSecretFile(dir, macFile);
  if (text === null)
    throw rejected(
      dir,
      `${macFile} is missing; restore it, because every stored document needs it; if the keys are in another folder, set WRIT_KEYS_DIR`,
    );
  const hex = text.trim();
  if (!/^[0-9a-f]+$/.test(hex) || hex.length !== macKeyBytes * 2) {
    throw rejected(dir, `${macFile} does not contain ${macKeyBytes} bytes in lower-case hex`);
  }
  return Buffer.from(hex, "hex");
}

export function signingFile(keyId: string): string {
  return `signing-${keyId}.pem`;
}
