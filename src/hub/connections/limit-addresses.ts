import { isIPv6, type Server, type Socket } from "node:net";
import { ConnectionLimit } from "./connection-limit.ts";
import { gateListeners } from "./gate-listeners.ts";

type AddressLimit = {
  /** How many connections one address may have open on one port. */
  connectionsPerAddress: number;
  /** Addresses, separated by commas. A proxy has many clients, and has to limit them itself. */
  trustedProxies: string | null;
};

/**
 * Closes connections from an address that has too many to this server, before anything is read from them. Listeners
 * that are added later still receive every connection, so this is called last. Why: ADR 0094.
 */
export function limitAddresses(
  server: Server,
  { connectionsPerAddress, trustedProxies }: AddressLimit,
  onRefused: (address: string) => void,
): void {
  const limit = new ConnectionLimit(connectionsPerAddress);
  const unlimited = new Set(trustedProxies?.split(",").map((address) => address.trim()));
  gateListeners(server, "connection", (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress) ?? "unknown";
    if (unlimited.has(address) || limit.admits(holderOf(address), socket)) return true;
    socket.destroy();
    onRefused(address);
    return false;
  });
}

/** Writes an IPv4 address in its own form even if the port listens on IPv6. */
export function plainAddress(address: string | undefined): string | null {
  return address?.replace(/^::ffff:/, "") ?? null;
}

/**
 * The key of an address. The owner of one IPv6 address usually has all with the same first half, and a machine has all
 * of loopback.
 */
function holderOf(address: string): string {
  if (/^127\./.test(address) || address === "::1") return "loopback";
  return isIPv6(address) ? firstHalf(address) : address;
}

function firstHalf(address: string): string {
  const [head = "", tail] = address.replace(/%.*$/, "").split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const [before, after] = [groups(head), groups(tail ?? "")];
  const omitted = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array(Math.max(0, omitted)).fill("0"), ...after].slice(0, 4).join(":");
}
