import { timingSafeEqual } from "node:crypto";
import { sealFrame } from "../../signing/mac.ts";
import { ByteReader } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import { EntryList } from "./entry-list.ts";

/**
 * A frame is what one group of acts writes: a head, and five payloads. The head lists a SHA-256 and the length of every
 * entry, and one MAC covers the head. Payloads are the bare bytes of their entries, one after the other, so that a damaged byte
 * is a fault of one entry. Retention overwrites an entry with zeros; its hash stays, and the head never changes.
 * Why: ADR 0105.
 */
export const payloadNames = ["jobs", "changes", "documents", "receipts", "events"] as const;
export type PayloadName = (typeof payloadNames)[number];
export type EntryLists = Record<PayloadName, EntryList>;

export function emptyLists(): EntryLists {
  return byName((name) => new EntryList({ isSharing: isSharing(name) }));
}

/** Whether the entries of a payload share texts, which are then its last entry. */
export function isSharing(name: PayloadName): boolean {
  return name === "jobs" || name === "receipts" || name === "events";
}

type FrameFacts = {
  /** 1 for the first frame. */
  number: number;
  atMs: number;
  /** The MAC of the frame before; `firstMac` for the first one. */
  previousMac: Uint8Array;
  /** The number of the first event in it, or of the next one if it has none. */
  firstEvent: number;
  /** The hash of the record of the audit trail before that one. */
  previousHash: string;
};

/** Null for a payload whose entries were all removed. */
export type Frame = { head: Buffer; payloads: Record<PayloadName, Buffer | null> };

type ListedEntry = { bytes: number; sha256: Buffer };

export type Head = Omit<FrameFacts, "previousMac"> & {
  previousMac: Buffer;
  lists: Record<PayloadName, ListedEntry[]>;
  mac: Buffer;
};

export const macBytes = 32;
export const firstMac: Buffer = Buffer.alloc(macBytes);
export const magic: Buffer = Buffer.from("WFRM");

const version = 1;
const hashBytes = 32;
const numberAt = 8;
const timeAt = 16;
const previousAt = 24;
const firstEventAt = previousAt + macBytes;
const previousHashAt = firstEventAt + 8;
const countsAt = previousHashAt + hashBytes;
const lengthsBytesAt = countsAt + 4 * payloadNames.length;
const hashesAt = lengthsBytesAt + 4;
/** More than any group has; a reader holds one frame in memory. */
export const entriesMax = 65_536;
const lengthBytesMax = 5;

/** Encodes the frame of what was collected, whose MAC the next one holds. The lists are empty then. */
export function encodeFrame(macKey: Buffer, facts: FrameFacts, lists: EntryLists): Frame {
  const taken = payloadNames.map((name) => lists[name].take());
  const count = taken.reduce((sum, { ends }) => sum + ends.length, 0);
  if (count > entriesMax) throw new RangeError(`a frame has at most ${entriesMax} entries; found ${count}`);
  const lengths = lengthsOf(taken);
  const listEnd = hashesAt + count * hashBytes + lengths.length;
  const head = Buffer.alloc(listEnd + macBytes);
  magic.copy(head);
  head.writeUInt32BE(version, magic.length);
  head.writeBigUInt64BE(BigInt(facts.number), numberAt);
  head.writeBigUInt64BE(BigInt(facts.atMs), timeAt);
  head.set(facts.previousMac, previousAt);
  head.writeBigUInt64BE(BigInt(facts.firstEvent), firstEventAt);
  head.write(facts.previousHash, previousHashAt, "hex");
  head.writeUInt32BE(lengths.length, lengthsBytesAt);
  let at = hashesAt;
  for (const [index, { ends, hashes }] of taken.entries()) {
    head.writeUInt32BE(ends.length, countsAt + 4 * index);
    head.set(hashes, at);
    at += hashes.length;
  }
  head.set(lengths, at);
  sealFrame(macKey, head.subarray(0, listEnd)).copy(head, listEnd);
  return { head, payloads: byName((_name, index) => taken[index]!.bytes) };
}

function lengthsOf(taken: { ends: number[] }[]): Buffer {
  const lengths = new ByteWriter();
  for (const { ends } of taken) {
    let start = 0;
    for (const end of ends) {
      lengths.varint(end - start);
      start = end;
    }
  }
  return lengths.take();
}

/** How long the head is that begins with these bytes; null if no head of this version does. */
export function headBytes(bytes: Uint8Array): number | null {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.length < hashesAt || !view.subarray(0, magic.length).equals(magic)) return null;
  if (view.readUInt32BE(magic.length) !== version) return null;
  const count = countIn(view);
  const lengths = view.readUInt32BE(lengthsBytesAt);
  if (count > entriesMax || lengths > lengthBytesMax * count) return null;
  return hashesAt + count * hashBytes + lengths + macBytes;
}

function countIn(head: Buffer, payloads: number = payloadNames.length): number {
  let count = 0;
  for (let index = 0; index < payloads; index++) count += head.readUInt32BE(countsAt + 4 * index);
  return count;
}

/** Null if the head does not match its MAC: then nothing in it can be trusted, least of all its list. */
export function openHead(macKey: Buffer, head: Buffer): Head | null {
  const read = readHead(head);
  if (read === null) return null;
  return timingSafeEqual(sealFrame(macKey, head.subarray(0, -macBytes)), read.mac) ? read : null;
}

/** The number of the frame, if its head matches its MAC: all that is asked of most heads. */
export function genuineNumber(macKey: Buffer, head: Buffer): number | null {
  if (headBytes(head) !== head.length) return null;
  const isGenuine = timingSafeEqual(sealFrame(macKey, head.subarray(0, -macBytes)), head.subarray(-macBytes));
  return isGenuine ? Number(head.readBigUInt64BE(numberAt)) : null;
}

/** The head as anybody can read it, without the key that proves it. Null if it is none. */
export function readHead(head: Buffer): Head | null {
  if (headBytes(head) !== head.length) return null;
  const lists = byName((name): ListedEntry[] => {
    const { listAt, starts } = listedEntries(head, name);
    return Array.from({ length: starts.length - 1 }, (_, index) => ({
      bytes: starts[index + 1]! - starts[index]!,
      sha256: head.subarray(listAt + hashBytes * index, listAt + hashBytes * (index + 1)),
    }));
  });
  return {
    number: Number(head.readBigUInt64BE(numberAt)),
    atMs: Number(head.readBigUInt64BE(timeAt)),
    previousMac: head.subarray(previousAt, firstEventAt),
    firstEvent: Number(head.readBigUInt64BE(firstEventAt)),
    previousHash: previousHashIn(head),
    lists,
    mac: head.subarray(-macBytes),
  };
}

/** The time of a frame, in ms. */
export function timeIn(head: Buffer): number {
  return head.length < hashesAt ? 0 : Number(head.readBigUInt64BE(timeAt));
}

/** The hash of the record of the audit trail before the first one in this frame. */
export function previousHashIn(head: Buffer): string {
  return head.toString("hex", previousHashAt, countsAt);
}

/**
 * Where the hashes of a payload begin in a head, and where its entries begin in the payload, with the end of the last one. Nothing is
 * made for each entry, because a large frame has thousands of them and a reader wants one.
 */
export function listedEntries(head: Buffer, name: PayloadName): { listAt: number; starts: Uint32Array } {
  if (headBytes(head) !== head.length) return { listAt: 0, starts: new Uint32Array(1) };
  const payload = payloadNames.indexOf(name);
  const before = countIn(head, payload);
  const all = countIn(head);
  const starts = new Uint32Array(head.readUInt32BE(countsAt + 4 * payload) + 1);
  const lengths = new ByteReader(head.subarray(hashesAt + all * hashBytes, -macBytes));
  try {
    for (let index = 0; index < before; index++) lengths.varint();
    for (let index = 1; index < starts.length; index++) starts[index] = starts[index - 1]! + lengths.varint();
  } catch {
    // A head with a genuine MAC has all of its lengths; of any other one, nothing is trusted.
  }
  return { listAt: hashesAt + before * hashBytes, starts };
}

/** The hash that is listed at this place of the list, in hex. */
export function listedHash(head: Buffer, listAt: number, index: number): string {
  return head.toString("hex", listAt + hashBytes * index, listAt + hashBytes * (index + 1));
}

export function macOf({ head }: Pick<Frame, "head">): Buffer {
  return head.subarray(-macBytes);
}

export function byName<T>(make: (name: PayloadName, index: number) => T): Record<PayloadName, T> {
  return Object.fromEntries(payloadNames.map((name, index) => [name, make(name, index)])) as Record<
    PayloadName,
    T
  >;
}
