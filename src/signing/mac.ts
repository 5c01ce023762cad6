import { createHmac, createSecretKey, hash, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import { WritError } from "../core/errors.ts";

/** What the seal covers: the document, and the columns that decide where it may run. */
type Sealed = { document: string; routing: string };

export const macKeyBytes = 32;
const macBytes = 32;

/** A key used for two purposes must never give the same MAC for both. */
const documentPurpose = "writ document seal 1\n";

/** The HMAC-SHA256 that a document carries at rest, so that a row edited in the database is noticed. Why: ADR 0006. */
export function sealDocument(macKey: Buffer, sealed: Sealed): Buffer {
  if (macKey.length !== macKeyBytes) {
    throw new WritError(
      "KEY_REJECTED",
      `the MAC key has ${macKey.length} bytes; it must have ${macKeyBytes}`,
    );
  }
  const { document, routing } = sealed;
  // As one text, because each further call to update costs as much as hashing a kilobyte.
  const text = `${documentPurpose}${lengthPrefix(document)}${document}${lengthPrefix(routing)}${routing}`;
  return createHmac("sha256", keyOf(macKey)).update(text).digest();
}

export function checkSeal(macKey: Buffer, sealed: Sealed, mac: Uint8Array): boolean {
  return mac.length === macBytes && timingSafeEqual(sealDocument(macKey, sealed), mac);
}

const receiptPurpose = "writ receipt seal 1\n";

/** The MAC, in hex, that earlier versions gave to a receipt when its attempt was accepted. */
export function sealReceipt(
  macKey: Buffer,
  receipt: { text: string; signedId: string; publicKey: string },
): string {
  const parts = [receipt.text, receipt.signedId, receipt.publicKey];
  const text = receiptPurpose + parts.map((part) => lengthPrefix(part) + part).join("");
  return createHmac("sha256", keyOf(macKey)).update(text).digest("hex");
}

const receiptListPurpose = "writ receipt seal 2\n";

/** The key, in hex, that seals the receipts of one list, as the worker with this key has signed it. */
export function receiptSealKey(macKey: Buffer, signed: { signedId: string; publicKey: string }): string {
  const parts = [signed.signedId, signed.publicKey];
  return macOfText(
    macKey,
    receiptListPurpose,
    parts.map((part) => lengthPrefix(part) + part).join(""),
  ).toString("hex");
}

/**
 * The seal of a receipt from the moment its attempt is accepted. A plain hash of key and message is a MAC as long as
 * every message has the same length, which a SHA-256 has; it takes a quarter of the time of an HMAC.
 */
export function sealListedReceipt(sealKey: string, receiptSha256: string): string {
  return sha256Hex(sealKey + receiptSha256);
}

/** The MAC of a text that the hub gives out and takes back. The purpose keeps it apart from every other MAC. */
export function macOfText(macKey: Buffer, purpose: string, text: string): Buffer {
  return createHmac("sha256", keyOf(macKey)).update(purpose).update(text).digest();
}

/**
 * The MAC of a frame's head: one for everything that a group of acts has written. Every head begins with the same letters and
 * its version, which are its purpose: no other text that we seal begins like that.
 */
export function sealFrame(macKey: Buffer, head: Uint8Array): Buffer {
  return createHmac("sha256", keyOf(macKey)).update(head).digest();
}

const checkPurpose = "writ key check 1\n";

/** A value, in hex, by which a database recognises the key that seals its documents. It says nothing about the key. */
export function checkValueOf(macKey: Buffer, databaseId: string): string {
  return macOfText(macKey, checkPurpose, databaseId).toString("hex");
}

export function generateMacKey(): Buffer {
  return randomBytes(macKeyBytes);
}

/** 64 lower-case hex digits; a string is hashed as UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}

/** Making a key object of the bytes takes a quarter of the time of a seal. Keys are few, and their bytes never change. */
const keys = new WeakMap<Buffer, KeyObject>();

function keyOf(macKey: Buffer): KeyObject {
  let key = keys.get(macKey);
  if (key === undefined) {
    key = createSecretKey(macKey);
    keys.set(macKey, key);
  }
  return key;
}

/** Without the lengths, moving the boundary between two parts would leave the MAC unchanged. */
function lengthPrefix(part: string): string {
  return `${Buffer.byteLength(part, "utf8")}:`;
}
