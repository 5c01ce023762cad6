import { readdirSync } from "node:fs";
import { WritError } from "../core/errors.ts";
import { toPlain } from "../core/json-value.ts";
import { generateSigningKey, loadSigningKey, loadVerifyingKey, type SigningKey } from "./ed25519.ts";
import { generateMacKey, MAC_KEY_BYTES } from "./mac.ts";
import { parseJson } from "./parse-json.ts";
import { createSecretFile, openSecretDirectory, readSecretFile, removeSecretFile } from "./secret-file.ts";

/** One key as the world may see it. Times are milliseconds since the epoch; `not_after` is null while it is open. */
export type KeyRecord = {
  key_id: string;
  public_key: string;
  status: "active" | "retiring" | "revoked";
  not_before: number;
  not_after: number | null;
};

/** The hub's keys: one that signs, one that seals, and the public record of all that ever signed. */
export type KeyRing = { signing: SigningKey; macKey: Buffer; list(): KeyRecord[] };

type Options = { nowMs: number; givenPrivateKeyPem?: string };

const RING_FILE = "ring.json";
const MAC_FILE = "mac.key";
const STATUSES: readonly unknown[] = ["active", "retiring", "revoked"];

/**
 * Opens the keys in a directory, or makes them at the first start. The ring is written last, so a directory
 * without one was never in use, and one with a ring must be whole: a lost key is never quietly replaced.
 */
export function openKeyRing(dir: string, options: Options): KeyRing {
  const given = options.givenPrivateKeyPem === undefined ? null : loadSigningKey(options.givenPrivateKeyPem);
  openSecretDirectory(dir);
  if (readSecretFile(dir, RING_FILE) === null) fillDirectory(dir, { given, nowMs: options.nowMs });

  const records = readRing(dir);
  const active = records.find((record) => record.status === "active") as KeyRecord;
  const signing = given ?? readSigningKey(dir, active.key_id);
  if (signing.keyId !== active.key_id) {
    throw rejected(dir, `the given key ${signing.keyId} is not its active key ${active.key_id}`);
  }
  return { signing, macKey: readMacKey(dir), list: () => records.map((record) => ({ ...record })) };
}

/**
 * Every file is created, never overwritten: of two hubs that start at once on one directory the first writer
 * wins, and both go on to read what is there. The order is MAC key, signing key, ring.
 */
function fillDirectory(dir: string, first: { given: SigningKey | null; nowMs: number }): void {
  const left = readdirSync(dir).filter((name) => /^signing-[0-9a-f]{16}\.pem$/.test(name));
  const isMacKeyThere = readSecretFile(dir, MAC_FILE) !== null;
  if (left.length > 0 && !isMacKeyThere) throw rejected(dir, `${MAC_FILE} and ${RING_FILE} are missing`);
  if (left.length > 1)
    throw rejected(dir, `${RING_FILE} is missing and ${left.length} signing keys are there`);
  if (!isMacKeyThere) createSecretFile(dir, MAC_FILE, `${generateMacKey().toString("hex")}\n`);

  // One signing key without a ring is what a crash between the two writes leaves behind.
  const leftKeyId = left[0]?.slice("signing-".length, -".pem".length);
  const leftKey = leftKeyId === undefined ? null : readSigningKey(dir, leftKeyId);
  const madeKey = first.given === null && leftKey === null ? makeSigningKey(dir) : null;
  const signing = (first.given ?? leftKey ?? madeKey) as SigningKey;
  const isFirst = createSecretFile(dir, RING_FILE, ringText(signing, first.nowMs));
  // Whoever lost the race leaves no key that the ring does not know.
  if (!isFirst && madeKey !== null) dropUnlisted(dir, madeKey.keyId);
}

function makeSigningKey(dir: string): SigningKey {
  const { signingKey, privateKeyPem } = generateSigningKey();
  createSecretFile(dir, signingFile(signingKey.keyId), privateKeyPem);
  return signingKey;
}

function dropUnlisted(dir: string, keyId: string): void {
  if (!readRing(dir).some((record) => record.key_id === keyId)) removeSecretFile(dir, signingFile(keyId));
}

function ringText(signing: SigningKey, nowMs: number): string {
  const record: KeyRecord = {
    key_id: signing.keyId,
    public_key: signing.publicKeyPem,
    status: "active",
    not_before: nowMs,
    not_after: null,
  };
  return `${JSON.stringify({ keys: [record] }, null, 2)}\n`;
}

function readSigningKey(dir: string, keyId: string): SigningKey {
  const name = signingFile(keyId);
  const pem = readSecretFile(dir, name);
  if (pem === null) throw rejected(dir, `${name} is missing; restore it, or give the same key at the start`);
  const signing = loadSigningKey(pem);
  if (signing.keyId !== keyId) throw rejected(dir, `${name} holds the key ${signing.keyId}`);
  return signing;
}

function readMacKey(dir: string): Buffer {
  const text = readSecretFile(dir, MAC_FILE);
  if (text === null)
    throw rejected(dir, `${MAC_FILE} is missing; restore it, every stored document needs it`);
  const hex = text.trim();
  if (!/^[0-9a-f]+$/.test(hex) || hex.length !== MAC_KEY_BYTES * 2) {
    throw rejected(dir, `${MAC_FILE} does not hold ${MAC_KEY_BYTES} bytes in lower-case hex`);
  }
  return Buffer.from(hex, "hex");
}

function readRing(dir: string): KeyRecord[] {
  const text = readSecretFile(dir, RING_FILE);
  const ring = text === null ? null : (toPlain(parseJson(text)) as { keys?: unknown } | null);
  const records: unknown[] = Array.isArray(ring?.keys) ? ring.keys : [];
  if (!records.every(isKeyRecord)) throw rejected(dir, `${RING_FILE} holds a record that is not a key`);
  if (records.filter((record) => record.status === "active").length !== 1) {
    throw rejected(dir, `${RING_FILE} must hold exactly one active key`);
  }
  return records;
}

/** The public key is loaded again at every start, so an edited ring cannot bring in a weak or renamed one. */
function isKeyRecord(value: unknown): value is KeyRecord {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Record<string, unknown>;
  return (
    typeof record["public_key"] === "string" &&
    loadVerifyingKey(record["public_key"]).keyId === record["key_id"] &&
    STATUSES.includes(record["status"]) &&
    Number.isSafeInteger(record["not_before"]) &&
    (record["not_after"] === null || Number.isSafeInteger(record["not_after"]))
  );
}

function signingFile(keyId: string): string {
  return `signing-${keyId}.pem`;
}

function rejected(dir: string, reason: string): WritError {
  return new WritError("KEY_REJECTED", `The key directory ${dir} is refused: ${reason}.`, { dir });
}
