import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";
import { findTree } from "../../sandbox/plain/process-tree.ts";

/** The kernel searches for more sockets until a read of this size is full, even after all listening ones. */
const pieceBytes = 1024;

/** Of the kernel's lines for one socket: its own address, its state, and far behind them its inode. */
const rowPattern = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) (?:\S+\s+){5}(\d+)/;
const listening = "0A";
/** More listening sockets than any machine has; each takes a line of 150 bytes. */
const tableBytesMax = 16 * 1024 * 1024;

/** The sockets that listen on a port of this machine, as the kernel numbers them. Why: ADR 0044. */
export function listenersOn(port: number): string[] {
  return [...inodesOn(port, "/proc/net/tcp"), ...inodesOn(port, "/proc/net/tcp6")];
}

function inodesOn(port: number, file: string): string[] {
  return listeningRows(file)
    .filter((row) => row.port === port)
    .map((row) => row.inode);
}

/** Whether everything that listens on a port belongs to a process, or to one that it started. */
export async function ownsPort(pid: number, port: number): Promise<boolean> {
  const inodes = listenersOn(port);
  return inodes.length > 0 && areOpenIn(inodes, await findTree(pid));
}

/** Whether each of these sockets is open in one of these processes. */
export function areOpenIn(inodes: readonly string[], pids: readonly number[]): boolean {
  const missing = new Set(inodes.map((inode) => `socket:[${inode}]`));
  for (const pid of pids) {
    if (missing.size === 0) break;
    for (const link of openFilesOf(pid)) missing.delete(link);
  }
  return missing.size === 0;
}

/**
 * The program that has one of these sockets open, such as `python3 (pid 4711)`; undefined if it cannot be seen. One in a
 * container or in a cage is not named: it may be the job of another tenant.
 */
export function programWith(inodes: readonly string[]): string | undefined {
  if (inodes.length === 0) return undefined;
  const names = new Set(inodes.map((inode) => `socket:[${inode}]`));
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const pid = pids.find((pid) => openFilesOf(Number(pid)).some((link) => names.has(link)));
  if (pid === undefined || linkOf(`/proc/${pid}/ns/pid`) !== linkOf("/proc/self/ns/pid")) return undefined;
  return `${programOf(pid)} (pid ${pid})`;
}

/** The kernel lists listening sockets before all others, of which there may be thousands. */
function listeningRows(file: string): { port: number; inode: string }[] {
  const rows: { port: number; inode: string }[] = [];
  for (const line of linesOf(file)) {
    const [, port, state, inode] = rowPattern.exec(line) ?? [];
    if (state === undefined) continue;
    if (state !== listening) break;
    rows.push({ port: Number.parseInt(port!, 16), inode: inode! });
  }
  return rows;
}

/**
 * Read synchronously, because these are calls to the kernel and not a file on a disk; and only as far as the caller
 * reads.
 */
function* linesOf(file: string): Generator<string> {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch {
    // A machine without IPv6.
    return;
  }
  try {
    const buffer = Buffer.allocUnsafe(pieceBytes);
    let rest = "";
    for (let bytes = 0; bytes < tableBytesMax; ) {
      const length = readSync(fd, buffer);
      if (length === 0) break;
      bytes += length;
      const lines = (rest + buffer.toString("latin1", 0, length)).split("\n");
      rest = lines.pop()!;
      yield* lines;
    }
  } finally {
    closeSync(fd);
  }
}

function openFilesOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  } catch {
    // It has ended, or this worker may not look at it: then nothing is known to be its own.
    return [];
  }
}

function programOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    // The process has ended meanwhile.
    return "a program";
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // The descriptor was closed meanwhile.
    return "";
  }
}
