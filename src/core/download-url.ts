/**
 * Why no worker downloads from this URL, whatever its settings are; null if one may. It completes a sentence that begins
 * with the name of the field or with "the URL". Whether a worker really connects also depends on the addresses of the
 * host and on the hosts that its settings allow. Why: ADR 0043.
 */
export function downloadUrlProblem(text: string): string | null {
  // The parser would drop tabs and line breaks and turn backslashes into slashes: what is checked and what was meant
  // would be two different URLs.
  if (hasUnsafeCharacter(text)) return "must not contain spaces, control characters or backslashes";
  const url = URL.parse(text);
  if (url === null) return "must be a complete URL, such as https://example.org/solver";
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return `must begin with https://, not with ${url.protocol}`;
  }
  if (url.username !== "" || url.password !== "") return "must not contain a user name or a password";
  return null;
}

function hasUnsafeCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code === 0x7f || code === 0x5c) return true;
  }
  return false;
}
