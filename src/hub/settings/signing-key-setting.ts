import { parser } from "../../runtime/settings/settings.ts";
import { loadSigningKey } from "../../signing/ed25519.ts";
import { pemFromText } from "../../signing/pem-text.ts";

/** A signing key that the operator gives, as people paste it. */
export const signingKey = parser("an Ed25519 private key as one PKCS#8 PEM block", (value) => {
  try {
    const pem = pemFromText(value as string);
    loadSigningKey(pem);
    return pem;
  } catch {
    return undefined;
  }
});
