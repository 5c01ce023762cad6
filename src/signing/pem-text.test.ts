import { expect, test } from "vitest";
import { generateSigningKey, loadSigningKey, loadVerifyingKey } from "./ed25519.ts";
import { pemFromText } from "./pem-text.ts";

const { signingKey, privateKeyPem: pem } = generateSigningKey();
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** O-16. */
const spellings: Record<string, string> = {
  "as it is": pem,
  "without its last line break": pem.trim(),
  "with \\n written out": pem.replaceAll("\n", "\\n"),
  "with \\r\\n written out": pem.replaceAll("\n", "\\r\\n"),
  "with line ends of Windows": pem.replaceAll("\n", "\r\n"),
  "in base64": base64(pem),
  "in base64, wrapped": base64(pem).replaceAll(/.{76}/g, "$&\n"),
  "in base64, with line ends of Windows inside": base64(pem.replaceAll("\n", "\r\n")),
  "with the | of YAML before it": `|\n${pem}`,
  "with the |- of YAML before it, and indented": `|-\n${pem.replaceAll(/^/gm, "  ")}`,
  "with | before it and \\n written out": `|\\n${pem.replaceAll("\n", "\\n")}`,
  "with | before it and in base64": `| ${base64(pem)}`,
};

test.each(Object.entries(spellings))("O-16: a key is read %s", (_how, text) => {
  expect(pemFromText(text)).toBe(pem);
  expect(loadSigningKey(pemFromText(text)).keyId).toBe(signingKey.keyId);
});

test("a public key is read in the same ways", () => {
  const text = `|\\n${signingKey.publicKeyPem.replaceAll("\n", "\\n")}`;
  expect(loadVerifyingKey(pemFromText(text)).keyId).toBe(signingKey.keyId);
});

test.each(["", "not a key", base64("not a key"), pem.slice(0, 60), `${pem}${pem}`, base64(base64(pem))])(
  "what is no key stays none: %j",
  (text) => {
    expect(() => loadSigningKey(pemFromText(text))).toThrow(
      expect.objectContaining({ code: "KEY_REJECTED" }),
    );
  },
);
