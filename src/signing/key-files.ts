import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createPrivateFileSync, removeFileSync } from "../runtime/private-file.ts";
import { generateSigningKey, loadSigningKey, type SigningKey } from "./ed25519.ts";
import { generateMacKey, macKeyBytes } from "./mac.ts";
import { type RingEntry, readRing, rejected, ringFile, ringText } from "./ring-file.ts";
import { readSecretFile } from "./secret-file.ts";

const macFile = "mac.key";

/**
 * Every file is created, never overwritten: of two hubs that start at once on one directory the first writer
 * wins, and both go on to read what is there. The order is MAC key, signing key, ring.
 */
export function makeKeys(dir: string, first: { given: SigningKey | null; nowMs: number }): void {
  const left = readdirSync(dir).filter((name) => /^signing-[0-9a-f]{16}\.pem$/.test(name));
  const isMacKeyThere = readSecretFile(dir, macFile) !== null;
  if (left.length > 0 && !isMacKeyThere) throw rejected(dir, `${macFile} and ${ringFile} are missing`);
  if (left.length > 1)
    throw rejected(dir, `${ringFile} is missing and ${left.length} signing keys are there`);
  if (!isMacKeyThere) createPrivateFileSync(join(dir, macFile), `${generateMacKey().toString("hex")}\n`);

  // One signing key without a ring is what a crash between the two writes leaves behind.
  const leftKeyId = left[0]?.slice("signing-".length, -".pem".length);
  const leftKey = leftKeyId === undefined ? null : readSigningKey(dir, leftKeyId);
  const madeKey = first.given === null && leftKey === null ? makeSigningKey(dir) : null;
  const signing = (first.given ?? leftKey ?? madeKey) as SigningKey;
  const ring = { version: 1, keys: [firstEntry(signing, first.nowMs)] };
  const isFirst = createPrivateFileSync(join(dir, ringFile), ringText(ring));
  // Whoever lost the race leaves no key that the ring does not know.
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

function firstEntry({ keyId, publicKeyPem }: SigningKey, nowMs: number): RingEntry {
  return { key_id: keyId, public_key: publicKeyPem, status: "active", not_before: nowMs, not_after: null };
}

export function readSigningKey(dir: string, keyId: string): SigningKey {
  const name = signingFile(keyId);
  const pem = readSecretFile(dir, name);
  if (pem === null) throw rejected(dir, `${name} is missing; restore it, or give the same key at the start`);
  const signing = loadSigningKey(pem);
  if (signing.keyId !== keyId) throw rejected(dir, `${name} holds the key ${signing.keyId}`);
  return signing;
}

export function readMacKey(dir: string): Buffer {
  const text = readSecretFile(dir, macFile);
  if (text === null) throw rejected(dir, `${macFile} is missing; restore it, every stored document needs it`);
  const hex = text.trim();
  if (!/^[0-9a-f]+$/.test(hex) || hex.length !== macKeyBytes * 2) {
    throw rejected(dir, `${macFile} does not hold ${macKeyBytes} bytes in lower-case hex`);
  }
  return Buffer.from(hex, "hex");
}

export function signingFile(keyId: string): string {
  return `signing-${keyId}.pem`;
}
