import { closeSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { constants } from "node:os";

/** A system call that changes a file of the database. */
export type WriteCall = {
  /** Counted from 1. */
  number: number;
  kind: "write" | "sync" | "size";
  /** What follows the name of the database: "" for itself, "-wal" for its log, "-shm" for the index of the log. */
  file: string;
  bytes: number;
};

export type WriteFault = {
  name: string;
  kind: "error" | "short";
  error: number;
  /** Every later call fails too, until the caller was answered. */
  isLasting: boolean;
};

const { EIO, ENOSPC } = constants.errno;

const failed: WriteFault = { name: "EIO", kind: "error", error: EIO, isLasting: false };
const failing: WriteFault = { name: "EIO from here on", kind: "error", error: EIO, isLasting: true };
const full: WriteFault = { name: "ENOSPC", kind: "error", error: ENOSPC, isLasting: false };
const filled: WriteFault = { name: "ENOSPC from here on", kind: "error", error: ENOSPC, isLasting: true };
const short: WriteFault = { name: "half of it", kind: "short", error: 0, isLasting: false };
const torn: WriteFault = { name: "half of it, then ENOSPC", kind: "short", error: ENOSPC, isLasting: true };

/** Every fault that this call can meet. */
export function faultsOf({ kind }: WriteCall): WriteFault[] {
  return kind === "write" ? [failed, failing, full, filled, short, torn] : [failed, failing, full, filled];
}

/** The layout of `struct page` in failing-writes.c. */
const watchedAt = 0;
const struckAt = 20;
const callsAt = 24;
const unsyncedAt = 28;
const listAt = 32;
const callBytes = 24;
const callsMax = 4_096;
const kinds = { 1: "write", 2: "sync", 3: "size" } as const;
const faultNumbers = { error: 1, short: 2 };

/** The page that is shared with failing-writes.c: which call is to fail, and which calls there were. */
export class FaultPage {
  readonly #fd: number;

  static create(path: string): void {
    writeFileSync(path, Buffer.alloc(listAt + callsMax * callBytes));
  }

  constructor(path: string) {
    this.#fd = openSync(path, "r+");
  }

  /** From now on calls are counted; the one with this number fails. */
  watch(strike: { at: number; fault: WriteFault } | null): void {
    const fault = strike?.fault;
    this.#write([
      1,
      strike?.at ?? 0,
      fault === undefined ? 0 : faultNumbers[fault.kind],
      fault?.error ?? 0,
      fault?.isLasting ? 1 : 0,
      0,
      0,
      0,
    ]);
  }

  /** Nothing fails any more, and nothing is counted. What was counted can still be read. */
  rest(): void {
    this.#write([0, 0]);
  }

  get isStruck(): boolean {
    return this.#number(struckAt) === 1;
  }

  /** Writes to the log that no later sync has made safe. */
  get unsynced(): number {
    return this.#number(unsyncedAt);
  }

  calls(): WriteCall[] {
    const count = this.#number(callsAt);
    if (count > callsMax) throw new Error(`${count} calls are more than the page can hold`);
    const list = Buffer.alloc(count * callBytes);
    readSync(this.#fd, list, 0, list.length, listAt);
    return Array.from({ length: count }, (_, index) => {
      const call = list.subarray(index * callBytes, (index + 1) * callBytes);
      return {
        number: index + 1,
        kind: kinds[call.readInt32LE(0) as keyof typeof kinds],
        bytes: call.readInt32LE(4),
        file: call.toString("latin1", 8, call.indexOf(0, 8)),
      };
    });
  }

  close(): void {
    closeSync(this.#fd);
  }

  #write(numbers: number[]): void {
    const bytes = Buffer.from(Int32Array.from(numbers).buffer);
    writeSync(this.#fd, bytes, 0, bytes.length, watchedAt);
  }

  #number(at: number): number {
    const bytes = Buffer.alloc(4);
    readSync(this.#fd, bytes, 0, 4, at);
    return bytes.readInt32LE(0);
  }
}
