import { parser } from "../../runtime/settings/settings.ts";
import { loadSigningKey } from "../../signing/ed25519.ts";
import { pemFromText } from "../../signing/pem-text.ts";

/** A signing key from the operator, in the forms in which people paste it. */
export const signingKey = parser("an Ed25519 private key as one PKCS#8 PEM block", (value) => {
  try {
    const pem = pemFromText(value as string);
    loadSigningKey(pem);
    return pem;
  } catch {
    // The parser refuses it with its own message, which shows nothing of the key.
    return undefined;
  }
});
