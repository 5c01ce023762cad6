import { isIPv4 } from "node:net";
import { WritError } from "../../core/errors.ts";

/** A call that finds no hub tries each address, so more than these would only make it slow. */
export const hubAddressesMax = 16;

/**
 * The addresses of the hubs of one installation: a list, or text with commas. Anything in it that cannot be meant is
 * refused, because a wrong entry would be noticed only on the day when the others fail.
 */
export function listHubAddresses(
  given: string | readonly string[],
  { allowInsecure }: { allowInsecure: boolean },
): string[] {
  const addresses = (typeof given === "string" ? given.split(",") : given).map((address) => address.trim());
  if (addresses.length === 0) throw new WritError("CONFIG_INVALID", "at least one hub address is needed");
  if (addresses.length > hubAddressesMax) {
    const found = `${addresses.length} hub addresses were given`;
    throw new WritError("CONFIG_INVALID", `${found}; at most ${hubAddressesMax} are allowed`);
  }
  const known = new Set<string>();
  for (const [index, address] of addresses.entries()) {
    if (address === "" && addresses.length > 1) {
      const place = `entry ${index + 1} of the hub addresses is empty`;
      throw new WritError("CONFIG_INVALID", `${place}; use one comma between two addresses`);
    }
    const { origin, pathname } = parseHubAddress(address, { allowInsecure });
    const name = origin + pathname.replace(/\/$/, "");
    if (known.has(name)) throw new WritError("CONFIG_INVALID", `hub address ${name} was given twice`);
    known.add(name);
  }
  return addresses;
}

/** A path below an address, which may have one of its own if a proxy serves the hub below a prefix. */
export function joinPath(hub: URL, path: string): string {
  if (!path.startsWith("/")) throw new WritError("CONFIG_INVALID", `request path ${path} must begin with /`);
  return hub.pathname.endsWith("/") ? hub.pathname.slice(0, -1) + path : hub.pathname + path;
}

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
