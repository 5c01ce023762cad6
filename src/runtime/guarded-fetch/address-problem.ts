import { isIPv4, isIPv6 } from "node:net";

/** First address, length of the prefix in bits, and what it is. From IANA's registries of special-purpose addresses. */
type Range = readonly [string, number, string];

const rangesV4: readonly Range[] = [
  ["0.0.0.0", 8, "this host"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "shared by customers of a provider"],
  ["127.0.0.0", 8, "loopback"],
  // The virtual host that every machine in Azure can reach; it looks public.
  ["168.63.129.16", 32, "a cloud's own"],
  ["169.254.0.0", 16, "link-local"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "reserved"],
  ["192.0.2.0", 24, "for documentation"],
  ["192.31.196.0", 24, "reserved"],
  ["192.52.193.0", 24, "reserved"],
  ["192.88.99.0", 24, "a tunnel (6to4)"],
  ["192.168.0.0", 16, "private"],
  ["192.175.48.0", 24, "reserved"],
  ["198.18.0.0", 15, "for benchmarks"],
  ["198.51.100.0", 24, "for documentation"],
  ["203.0.113.0", 24, "for documentation"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved"],
];

/** Inside the only range that is public. */
const rangesV6: readonly Range[] = [
  // Teredo is among them.
  ["2001::", 23, "reserved, or a tunnel (Teredo)"],
  ["2001:db8::", 32, "for documentation"],
  ["2002::", 16, "a tunnel (6to4)"],
  ["2620:4f:8000::", 48, "reserved"],
  ["3ffe::", 16, "reserved"],
  ["3fff::", 20, "for documentation"],
];

/** Only for a better message: everything outside the public range is refused, whether or not it is listed here. */
const otherV6: readonly Range[] = [
  ["::1", 128, "loopback"],
  ["::ffff:0:0", 96, "an IPv4 address in another form"],
  ["64:ff9b::", 96, "a translated IPv4 address (NAT64)"],
  ["64:ff9b:1::", 48, "a translated IPv4 address (NAT64)"],
  ["fc00::", 7, "private"],
  ["fe80::", 10, "link-local"],
  ["ff00::", 8, "multicast"],
];

const publicV6: Range = ["2000::", 3, "public"];

/**
 * Why a worker does not connect to an address that somebody else has chosen; null if it is a public one. It completes
 * the words "an address that is". Why: ADR 0043.
 */
export function addressProblem(address: string): string | null {
  if (isIPv4(address)) return whatIs(address, rangesV4);
  // A zone, as in fe80::1%eth0, exists only for addresses that are refused anyway.
  if (!isIPv6(address) || address.includes("%")) return "not public";
  if (!isIn(publicV6, address)) return whatIs(address, otherV6) ?? "not public";
  return isIsatap(address) ? "a tunnel (ISATAP)" : whatIs(address, rangesV6);
}

function whatIs(address: string, ranges: readonly Range[]): string | null {
  return ranges.find((range) => isIn(range, address))?.[2] ?? null;
}

function isIn([first, prefixBits]: Range, address: string): boolean {
  const shift = BigInt((isIPv4(first) ? 32 : 128) - prefixBits);
  return numberOf(first) >> shift === numberOf(address) >> shift;
}

/** Whatever its network, the last 64 bits of such an address contain an IPv4 address behind 0000:5efe or 0200:5efe. */
function isIsatap(address: string): boolean {
  const marker = (numberOf(address) >> 32n) & 0xffff_ffffn;
  return marker === 0x0000_5efen || marker === 0x0200_5efen;
}

function numberOf(address: string): bigint {
  if (isIPv4(address)) {
    return address.split(".").reduce((value, part) => (value << 8n) | BigInt(part), 0n);
  }
  return groupsOf(address).reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

/** The eight groups of an IPv6 address. The URL parser writes an embedded IPv4 address as two of them. */
function groupsOf(address: string): string[] {
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = "", tail] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...right];
}
