/**
 * What a job with a closed network asks for. `allow` lists hosts with ports, `inject` the names of keys that the worker adds to
 * requests. Why: ADR 0120.
 */
export type Egress = { allow?: string[] | undefined; inject?: string[] | undefined };

/** One entry of a list of allowed hosts. */
export type EgressTarget = (
  | { kind: "name"; name: string }
  /** One label or more below the name. */
  | { kind: "below"; name: string }
  /** Every name. */
  | { kind: "any" }
  /** Addresses with the same first bits. */
  | { kind: "addresses"; first: bigint; bits: 32 | 128; prefixBits: number }
) & { port: number };

/** What a program wants to connect to: a name in lower case without a dot at its end, or an address. */
export type EgressHost = { host: string; port: number };

export const egressAllowMax = 64;
export const egressInjectMax = 16;
/** A job calls `http://HOST.writ.internal`, and its worker adds the key for HOST. */
export const injectSuffix = ".writ.internal";

const targetHelp = "must be a host and a port, such as api.example.com:443 or *.example.com:443";

/** What is wrong with an entry of a job's list; null if nothing is. */
export function jobTargetProblem(text: string): string | null {
  const target = parseEgressTarget(text);
  if (target === null) return targetHelp;
  if (target.kind === "any") return "must name a host; only the file of a worker may allow all of them";
  if (target.kind !== "addresses") return null;
  return "must name a host and not an address; only the file of a worker names addresses";
}

/** The same for a worker's own list. */
export function workerTargetProblem(text: string): string | null {
  if (parseEgressTarget(text) !== null) return null;
  return `${targetHelp}, or an address, such as 10.0.0.5:5432, 10.0.0.0/24:5432 or [fd00::5]:443`;
}

const namePattern =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** Null for a text that is no such entry. */
export function parseEgressTarget(text: string): EgressTarget | null {
  const match = /^(\[[^\]]+\](?:\/\d{1,3})?|[^:]+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port < 1 || port > 65_535) return null;
  const host = match[1]!.toLowerCase();
  if (host === "*") return { kind: "any", port };
  const [address = "", prefix, ...rest] = host.split("/");
  const number = addressNumber(address.replaceAll(/^\[|\]$/g, ""));
  if (number !== null) {
    const prefixBits = prefix === undefined ? number.bits : Number(prefix);
    if (rest.length > 0 || !/^\d{1,3}$/.test(prefix ?? "0") || prefixBits > number.bits) return null;
    return { kind: "addresses", first: number.value, bits: number.bits, prefixBits, port };
  }
  const below = host.startsWith("*.");
  const name = hostName(below ? host.slice(2) : host);
  if (name === null) return null;
  return { kind: below ? "below" : "name", name, port };
}

/** A name as it is compared, or null if it is none. What looks like an address is not a name. */
export function hostName(text: string): string | null {
  const name = text.toLowerCase().replace(/\.$/, "");
  // Every way to write an IPv4 address ends in a number, and no top-level domain does.
  return namePattern.test(name) && !/(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(name) ? name : null;
}

export function matchesTarget(target: EgressTarget, { host, port }: EgressHost): boolean {
  if (target.port !== port) return false;
  const address = addressNumber(host);
  if (target.kind === "addresses") {
    if (address === null || address.bits !== target.bits) return false;
    const shift = BigInt(target.bits - target.prefixBits);
    return address.value >> shift === target.first >> shift;
  }
  if (address !== null) return false;
  if (target.kind === "any") return true;
  return target.kind === "name" ? host === target.name : host.endsWith(`.${target.name}`);
}

type AddressNumber = { value: bigint; bits: 32 | 128 };

/** An address in one of the forms that are no matter of taste; null for anything else. */
export function addressNumber(text: string): AddressNumber | null {
  if (/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text)) {
    const value = text.split(".").reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
    return { value, bits: 32 };
  }
  if (!/^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text)) return null;
  // The parser of URLs writes an embedded IPv4 address as two groups, and refuses what is no address.
  const plain = URL.parse(`http://[${text}]/`)?.hostname.slice(1, -1);
  if (plain === undefined) return null;
  const [head = "", tail] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right];
  return { value: groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n), bits: 128 };
}
