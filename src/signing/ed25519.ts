import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { WritError } from "../core/errors.ts";
import { sha256Hex } from "./mac.ts";
import { refuseWeakPoint } from "./weak-points.ts";

export type SigningKey = { keyId: string; privateKey: KeyObject; publicKeyPem: string };
export type VerifyingKey = { keyId: string; publicKey: KeyObject; publicKeyPem: string };

export const signaturePrefix = "base64:";
const signatureChars = signaturePrefix.length + 88;
const signatureSizeBytes = 64;
const publicKeyBytes = 32;

/** `base64:` and 88 characters, over the UTF-8 bytes of the text. */
export function signText(key: SigningKey, text: string): string {
  // A lone surrogate would be encoded as U+FFFD, and two texts would share one signature.
  if (!text.isWellFormed()) throw new WritError("INVALID_JSON", "half of a surrogate pair cannot be signed");
  return signaturePrefix + sign(null, Buffer.from(text, "utf8"), key.privateKey).toString("base64");
}

/** Returns false, and never throws, for any untrusted text or signature. */
export function verifyText(key: VerifyingKey, text: string, signature: string): boolean {
  if (typeof text !== "string" || !text.isWellFormed()) return false;
  const bytes = signatureBytes(signature);
  return bytes !== null && verify(null, Buffer.from(text, "utf8"), key.publicKey, bytes);
}

/** Buffer accepts many spellings of the same bytes; only the one that it would write itself is accepted here. */
function signatureBytes(signature: string): Buffer | null {
  if (typeof signature !== "string" || signature.length !== signatureChars) return null;
  if (!signature.startsWith(signaturePrefix)) return null;
  const encoded = signature.slice(signaturePrefix.length);
  const bytes = Buffer.from(encoded, "base64");
  return bytes.length === signatureSizeBytes && bytes.toString("base64") === encoded ? bytes : null;
}

export function generateSigningKey(): { signingKey: SigningKey; privateKeyPem: string } {
  const { privateKey } = generateKeyPairSync("ed25519");
  const privateKeyPem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  return { signingKey: loadSigningKey(privateKeyPem), privateKeyPem };
}

/** Reads a PKCS#8 PEM. The text of the key never appears in an error. */
export function loadSigningKey(pem: string): SigningKey {
  requireOneBlock(pem, "PRIVATE KEY");
  const privateKey = readKey(() => createPrivateKey({ key: pem, format: "pem" }));
  const { keyId, publicKeyPem } = describePublicKey(createPublicKey(privateKey));
  return { keyId, privateKey, publicKeyPem };
}

/** Reads a SubjectPublicKeyInfo PEM and refuses weak keys, under which anybody could sign. */
export function loadVerifyingKey(pem: string): VerifyingKey {
  requireOneBlock(pem, "PUBLIC KEY");
  const publicKey = readKey(() => createPublicKey({ key: pem, format: "pem" }));
  return describePublicKey(publicKey);
}

/** The first 16 hex digits of the SHA-256 of the public key's DER. */
export function keyIdOf(publicKey: KeyObject): string {
  return sha256Hex(publicKey.export({ type: "spki", format: "der" })).slice(0, 16);
}

function describePublicKey(publicKey: KeyObject): VerifyingKey {
  const der = publicKey.export({ type: "spki", format: "der" });
  refuseWeakPoint(der.subarray(der.length - publicKeyBytes));
  const publicKeyPem = publicKey.export({ type: "spki", format: "pem" }) as string;
  return { keyId: keyIdOf(publicKey), publicKey, publicKeyPem };
}

/**
 * Node would also accept a certificate or a private key where a public key is expected, and reads only the first of
 * several blocks. Requiring exactly one block of the right kind avoids any ambiguity.
 */
function requireOneBlock(pem: string, label: string): void {
  const block = new RegExp(`^\\s*-----BEGIN ${label}-----[A-Za-z0-9+/=\\s]+-----END ${label}-----\\s*$`);
  if (typeof pem !== "string" || !block.test(pem)) {
    throw new WritError("KEY_REJECTED", `the key is not a single PEM block "${label}"`);
  }
}

function readKey(read: () => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    // OpenSSL's own message is dropped: it does not help, and it must never quote key material.
    throw new WritError("KEY_REJECTED", "the PEM block does not contain a readable key");
  }
  if (key.asymmetricKeyType !== "ed25519") {
    throw new WritError("KEY_REJECTED", `the key is ${key.asymmetricKeyType}; only Ed25519 is accepted`);
  }
  return key;
}
