import { isIPv4 } from "node:net";
import { WritError } from "../core/errors.ts";

/** Parses a hub's address. Plain `http://` to another machine is refused unless `allowInsecure` is set. */
export function parseHubAddress(address: string, { allowInsecure }: { allowInsecure: boolean }): URL {
  const url = parseUrl(address);
  // The address may appear in messages and logs, so it must not contain a password.
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new WritError(
      "CONFIG_INVALID",
      `hub address ${url.origin} must not contain a user, password, query or fragment`,
    );
  }
  const api = /\/api(?:\/v1)?\/?$/.exec(url.pathname);
  if (api !== null) {
    const found = `${url.origin}${url.pathname}`;
    throw new WritError(
      "CONFIG_INVALID",
      `hub address ${found} must not contain the path of the API; use ${found.slice(0, -api[0].length)}`,
    );
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !allowInsecure) {
    throw new WritError(
      "CONFIG_INVALID",
      `hub address ${url.origin} would send the token unencrypted to another host; use https:// or set WRIT_ALLOW_INSECURE=true`,
    );
  }
  return url;
}

export function isLoopback(hostname: string): boolean {
  if (hostname === "localhost" || hostname === "[::1]" || hostname === "::1") return true;
  return isIPv4(hostname) && hostname.startsWith("127.");
}

function parseUrl(address: string): URL {
  const url = URL.parse(address);
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new WritError(
    "CONFIG_INVALID",
    `${JSON.stringify(address)} is not a hub address; use https://host:port`,
  );
}
