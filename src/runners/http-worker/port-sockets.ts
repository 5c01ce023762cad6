import { readFile } from "node:fs/promises";
import { hasCode } from "../../core/errors.ts";

/** One TCP socket of this machine, as the kernel lists it. Addresses and ports are in its own hexadecimal form. */
type TcpSocket = { localPort: string; remote: string; state: string; inode: string };

/** Of one line: its own address and port, the other end, the state, and far behind them the inode. */
const rowPattern =
  /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]{2}) (?:\S+\s+){5}(\d+)/;
const listening = "0A";
/** Closed on this side: no program answers there any more. */
const timeWait = "06";
/** The inode of a connection that was not accepted yet. It belongs to the listening socket. */
const noInode = "0";

/** The sockets of a port, all read after the call. */
export type PortSockets = {
  /** The inodes of those that listen. */
  listeners: readonly string[];
  /** The inode of the other end of a connection; null if it was not accepted yet, undefined if there is none. */
  otherEndOf(connection: { localAddress: string; localPort: number }): string | null | undefined;
};

/**
 * Reads both tables of the kernel, each of which lists what listens before everything else. So a socket that has accepted
 * a connection and was closed is missing among those that listen only if the connection is seen with its new owner.
 */
export async function readPortSockets(port: number): Promise<PortSockets> {
  const sockets: TcpSocket[] = [];
  for (const file of ["/proc/net/tcp", "/proc/net/tcp6"]) sockets.push(...(await socketsIn(file, port)));
  return {
    listeners: sockets.filter(({ state }) => state === listening).map(({ inode }) => inode),
    otherEndOf({ localAddress, localPort }) {
      const ends = namesOf(localAddress).map((address) => `${address}:${portName(localPort)}`);
      const end = sockets.find(({ remote, state }) => ends.includes(remote) && state !== timeWait);
      return end?.inode === noInode ? null : end?.inode;
    },
  };
}

/** Read by another thread: to list the sockets of a machine takes the kernel milliseconds. */
async function socketsIn(file: string, port: number): Promise<TcpSocket[]> {
  const name = portName(port);
  const text = await readFile(file, "latin1").catch((error: unknown) => {
    // A machine without IPv6.
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  });
  const sockets: TcpSocket[] = [];
  for (const line of text.split("\n")) {
    // A quick look first: there may be thousands of lines.
    if (!line.includes(`:${name} `)) continue;
    const [, localPort, remote, state, inode] = rowPattern.exec(line) ?? [];
    if (localPort !== name || inode === undefined) continue;
    sockets.push({ localPort, remote: remote!, state: state!, inode });
  }
  return sockets;
}

function portName(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/** A loopback address as the tables name it: one of IPv4 also as a socket of IPv6 sees it. */
function namesOf(address: string): string[] {
  if (address === "::1") return [`${"0".repeat(24)}${hostOrder("00000001")}`];
  const bytes = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
  const ipv4 = hostOrder(bytes.join(""));
  return [ipv4, `${"0".repeat(16)}${hostOrder("0000ffff")}${ipv4}`];
}

/** The kernel prints each word of four bytes as a number, and every machine that Writ runs on is little-endian. */
function hostOrder(hex: string): string {
  return hex.toUpperCase().match(/../g)!.reverse().join("");
}
