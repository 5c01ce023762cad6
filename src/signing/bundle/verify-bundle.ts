import { loadVerifyingKey, verifyText } from "../ed25519.ts";
import { sha256Hex } from "../mac.ts";
import { type BundleClaims, checkBundle, type Proof } from "./check-bundle.ts";
import type { BundleStep } from "./check-shown.ts";

export type { ReceiptBundle } from "./check-bundle.ts";
export type { BundleStep } from "./check-shown.ts";

const nodeProof: Proof = {
  async loadKey(pem) {
    const key = loadVerifyingKey(pem);
    return { keyId: key.keyId, verify: async (text, signature) => verifyText(key, text, signature) };
  },
  sha256Hex: async (text) => sha256Hex(text),
};

/** Checks a bundle in a program. The dashboard checks the same links in the browser. */
export function verifyBundle(given: BundleClaims): Promise<BundleStep[]> {
  return checkBundle(given, nodeProof);
}

/** The public keys in a PEM file, as written by `writ keys export`. */
export function readPublicKeys(pem: string): { key_id: string; public_key: string; status: "active" }[] {
  const blocks = pem.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? [];
  return blocks.map((block) => ({
    key_id: loadVerifyingKey(block).keyId,
    public_key: block,
    status: "active",
  }));
}
