import { WritError } from "../../core/errors.ts";

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerValue = /^[\t\x20-\x7e]*$/;

/** `name=value,name=value` with percent signs as in an address. The error names no value: it is a secret. */
export function parseHeaders(text: string | null): Record<string, string> {
  const pairs = (text ?? "").split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(pairs.map(parsePair));
}

function parsePair(pair: string): [string, string] {
  const at = pair.indexOf("=");
  const name = pair.slice(0, Math.max(0, at)).trim();
  const value = decoded(pair.slice(at + 1).trim());
  if (!headerName.test(name) || value === null || !headerValue.test(value)) {
    throw new WritError(
      "CONFIG_INVALID",
      "OTEL_EXPORTER_OTLP_HEADERS: must be name=value, several separated by commas",
    );
  }
  return [name.toLowerCase(), value];
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    // The caller refuses a header that is not encoded correctly.
    return null;
  }
}
