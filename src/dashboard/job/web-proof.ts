import { WritError } from "../../core/errors.ts";
import type { Proof } from "../../signing/bundle/check-bundle.ts";
import { refuseWeakPoint } from "../../signing/weak-points.ts";

const signaturePrefix = "base64:";
const publicKeyBytes = 32;

/** Null where the browser has no WebCrypto: on a page that is neither encrypted nor of this machine. Why: ADR 0046. */
export function webProof(): Proof | null {
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined) return null;
  return {
    sha256Hex: async (text) => hex(await subtle.digest("SHA-256", encode(text))),
    async loadKey(pem) {
      const der = derOf(pem);
      refuseWeakPoint(der.subarray(der.length - publicKeyBytes));
      const key = await subtle.importKey("spki", der, "Ed25519", false, ["verify"]);
      const keyId = hex(await subtle.digest("SHA-256", der)).slice(0, 16);
      const verify = async (text: string, signature: string) => {
        const bytes = signatureBytes(signature);
        return bytes !== null && text.isWellFormed() && subtle.verify("Ed25519", key, bytes, encode(text));
      };
      return { keyId, verify };
    },
  };
}

export async function sha256OfBytes(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", bytes));
}

function derOf(pem: string): Uint8Array<ArrayBuffer> {
  const [, body] = /^-----BEGIN PUBLIC KEY-----([^-]+)-----END PUBLIC KEY-----\s*$/.exec(pem) ?? [];
  const bytes = body === undefined ? null : bytesOf(body.replaceAll(/\s/g, ""));
  if (bytes === null) throw new WritError("KEY_REJECTED", "this is not a public key");
  return bytes;
}

function signatureBytes(signature: string): Uint8Array<ArrayBuffer> | null {
  return signature.startsWith(signaturePrefix) ? bytesOf(signature.slice(signaturePrefix.length)) : null;
}

/** Only the one spelling that an encoder writes is accepted. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    const text = atob(base64);
    return btoa(text) === base64 ? Uint8Array.from(text, (character) => character.charCodeAt(0)) : null;
  } catch {
    // Not base64.
    return null;
  }
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function hex(buffer: ArrayBuffer): string {
  return [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
