const secretKey =
  /^(?:(?:proxy-)?authorization|(?:set-)?cookie|.*token|.*secret|.*password|passphrase|.*private_?key)$/i;
const tokenInText = /\b(sk_(?:admin|user|worker|viewer|cert)_|Bearer )[A-Za-z0-9._~+/=-]+/g;
// Every JWT begins like this. Its three parts are matched as one run, so that no text makes the search start over.
const jwtInText = /(eyJ)[A-Za-z0-9._-]{20,}/g;
const hiddenText = "***";
// Deeper than any record we log; bounds the work on a value that came from outside.
const depthMax = 8;

/** A copy of `value` in which everything under the name of a secret is hidden. */
export function redactFields(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  // The serializers know how to show an error and a date; a copy would lose what they need.
  if (value instanceof Error || value instanceof Date || ArrayBuffer.isView(value)) return value;
  if (depth >= depthMax) return "[too deep]";
  if (Array.isArray(value)) return value.map((item) => redactFields(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      secretKey.test(key) ? hiddenText : redactFields(field, depth + 1),
    ]),
  );
}

/** Hides our tokens, job tokens and bearer credentials wherever they occur in a text, such as an error message. */
export function redactText(text: string): string {
  if (!text.includes("sk_") && !text.includes("Bearer ") && !text.includes("eyJ")) return text;
  return text.replace(tokenInText, `$1${hiddenText}`).replace(jwtInText, `$1${hiddenText}`);
}
