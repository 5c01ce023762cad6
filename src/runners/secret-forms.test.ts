import { expect, test } from "vitest";
import { maskText } from "../sandbox/plain/masker.ts";
import { secretForms } from "./secret-forms.ts";

const secrets = ["hunter22", 'p"ss/w+rd?ü ~(x)!*', "sixsix", "0123456789abcdefghijklmnopqrstuvwxyz+/"];

test.each(secrets)("A14: %s is recognized as it is, in JSON and in URLs", (secret) => {
  const texts = [
    secret,
    JSON.stringify({ secret }),
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    new URLSearchParams({ secret }).toString().replaceAll("%7E", "~").replaceAll("*", "%2A"),
    new URL(`http://host/?secret=${encodeURIComponent(secret)}`).href,
  ];
  for (const text of texts) {
    const masked = maskText(`<${text}>`, secretForms([secret]));
    expect(masked).toContain("*".repeat(6));
    expect(Buffer.byteLength(masked)).toBe(Buffer.byteLength(`<${text}>`));
    for (const part of secret.match(/[a-z0-9]{4,}/gi) ?? []) expect(masked).not.toContain(part);
  }
});

test.each(secrets)("A14: %s is recognized in base64, whatever stands before and behind it", (secret) => {
  const forms = secretForms([secret]);
  for (const encoding of ["base64", "base64url"] as const) {
    for (const before of ["", "a", "ab", "user:"]) {
      for (const behind of ["", "\n", "z", "zz"]) {
        const encoded = Buffer.from(before + secret + behind).toString(encoding);
        const [, head, masked] = /^([^*]*)(\*+)/.exec(maskText(encoded, forms)) ?? [];
        // At most one character on each side is made of bits of the secret and of its neighbour.
        expect(masked?.length).toBeGreaterThanOrEqual(Math.floor((8 * Buffer.byteLength(secret)) / 6) - 1);
        expect(head?.length).toBeLessThanOrEqual(Math.ceil((8 * before.length) / 6));
      }
    }
    expect(maskText(Buffer.from(secret).toString(encoding), forms)).toMatch(/^\*+$/);
  }
});

test.each([
  ["PHP", "a/b&c-ü-secret", "a\\/b&c-\\u00fc-secret"],
  ["Perl", "a/b&c-ü-secret", "a\\/b&c-ü-secret"],
  ["Go", "a/b<c>&-ü-secret", "a/b\\u003cc\\u003e\\u0026-ü-secret"],
])("O-07: a secret is recognized in the JSON that %s writes", (_language, secret, written) => {
  const masked = maskText(`{"key":"${written}"}`, secretForms([secret]));
  expect(masked).toBe(`{"key":"${"*".repeat(Buffer.byteLength(written))}"}`);
});

test("A14: values of less than six bytes are not masked", () => {
  expect(secretForms(["short", "", "üüü"])).not.toContain("short");
  expect(secretForms(["short", ""])).toEqual([]);
  expect(secretForms(["üüü"])).toContain("üüü");
});
