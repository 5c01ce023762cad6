import { canonicalize } from "../signing/canonical.ts";

/** Shorter values occur in ordinary output by chance, and are easy to guess anyway. */
const maskedBytesMin = 6;

/**
 * The texts by which a secret can be recognized in output: the value itself, and how it looks in JSON, in a URL and in
 * base64. Whatever else is made of it cannot be recognized; docs/security-model.md says so. Why: ADR 0034.
 */
export function secretForms(values: Iterable<string>): string[] {
  const forms = new Set<string>();
  for (const value of values) {
    if (Buffer.byteLength(value) < maskedBytesMin) continue;
    for (const form of [value, ...jsonForms(value), ...urlForms(value), ...base64Forms(value)])
      forms.add(form);
  }
  return [...forms];
}

/**
 * As JavaScript writes a string, and as Python does, which escapes everything outside ASCII. Of each, also what PHP makes
 * of a slash, and what Go makes of signs that mean something in HTML.
 */
function jsonForms(value: string): string[] {
  const wellFormed = value.toWellFormed();
  const plain = [JSON.stringify(wellFormed), canonicalize(wellFormed)].map((text) => text.slice(1, -1));
  const forms = [...plain, ...plain.map((form) => form.replaceAll("/", "\\/"))];
  return [...forms, ...forms.map((form) => form.replaceAll(/[<>&]/g, escaped))];
}

function escaped(sign: string): string {
  return `\\u00${sign.charCodeAt(0).toString(16)}`;
}

/** The languages differ in what they leave as it is, and whether a space is a `+`. */
function urlForms(value: string): string[] {
  const component = encodeURIComponent(value.toWellFormed());
  const strict = component.replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const forms = [component, strict, strict.replaceAll("%2F", "/"), strict.replaceAll("%20", "+")];
  return [...forms, ...forms.map((form) => form.replaceAll(/%../g, (byte) => byte.toLowerCase()))];
}

/**
 * A value may stand anywhere in what was encoded, so it is looked for at each of the three places in a group of three
 * bytes: the characters that depend on nothing else, and those to the end when it is the last of what was encoded.
 */
function base64Forms(value: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    const whole = bytes.toString("base64").slice(Math.ceil((8 * before) / 6));
    const unpadded = whole.replace(/=+$/, "");
    const ownChars = Math.floor((8 * bytes.length) / 6) - Math.ceil((8 * before) / 6);
    const forms = [whole, unpadded, unpadded.slice(0, ownChars)];
    return [...forms, ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
  });
}
