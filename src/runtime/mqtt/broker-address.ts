/** Where a broker is. */
export type BrokerAddress = { host: string; port: number; tls: boolean; username: string | null };

export const brokerUrlHelp = "mqtt://[USER@]HOST[:PORT], or mqtts:// for TLS";

/** What can be wrong with the address of a broker. A password in it would be stored, shown and logged. */
type Unusable = "not an address" | "has a password";

/** Reads the address of a broker. */
export function parseBrokerUrl(text: string): BrokerAddress | Unusable {
  const url = URL.parse(text);
  if (url === null || !isBrokerUrl(url)) return "not an address";
  if (url.password !== "") return "has a password";
  const tls = url.protocol === "mqtts:";
  return {
    // The brackets around an IPv6 address belong to the URL.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? defaultPort(tls) : Number(url.port),
    tls,
    username: url.username === "" ? null : decodeURIComponent(url.username),
  };
}

export function defaultPort(tls: boolean): number {
  return tls ? 8883 : 1883;
}

function isBrokerUrl({ protocol, hostname, port, pathname, search, hash, username }: URL): boolean {
  const isMqtt = protocol === "mqtt:" || protocol === "mqtts:";
  const hasMore = !["", "/"].includes(pathname) || search !== "" || hash !== "";
  // A lone % cannot be decoded.
  return isMqtt && hostname !== "" && port !== "0" && !hasMore && !/%(?![0-9a-f]{2})/i.test(username);
}
