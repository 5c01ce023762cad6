import { hash, timingSafeEqual } from "node:crypto";
import { sealFrame } from "../../signing/mac.ts";

/**
 * A frame is what one group of acts writes: a head, and five payloads. The head lists the length and the SHA-256 of every
 * entry, and one MAC covers the head. Payloads are the bare bytes of their entries, one after the other, so that a damaged byte
 * is a fault of one entry. Retention overwrites an entry with zeros; its hash stays, and the head never changes.
 * Why: ADR 0105.
 */
export const payloadNames = ["jobs", "changes", "documents", "receipts", "events"] as const;
export type PayloadName = (typeof payloadNames)[number];

/** Bytes that are written as UTF-8; their SHA-256 in hex, if it is known already. */
type NewEntry = { text: string; sha256?: string };

export type NewFrame = {
  /** 1 for the first frame. */
  number: number;
  atMs: number;
  /** The MAC of the frame before; `firstMac` for the first one. */
  previousMac: Uint8Array;
  entries: Record<PayloadName, readonly NewEntry[]>;
};

/** Null for a payload whose entries were all removed. */
export type Frame = { head: Buffer; payloads: Record<PayloadName, Buffer | null> };

type ListedEntry = { bytes: number; sha256: Buffer };

export type Head = {
  number: number;
  atMs: number;
  previousMac: Buffer;
  lists: Record<PayloadName, ListedEntry[]>;
  mac: Buffer;
};

const macBytes = 32;
export const firstMac: Buffer = Buffer.alloc(macBytes);
export const magic: Buffer = Buffer.from("WFRM");

const version = 1;
const hashBytes = 32;
const numberAt = 8;
const timeAt = 16;
const previousAt = 24;
const countsAt = previousAt + macBytes;
const listAt = countsAt + 4 * payloadNames.length;
const listedBytes = 4 + hashBytes;
/** More than any group has; a reader holds one frame in memory. */
export const entriesMax = 65_536;

/** Encodes the frame, whose MAC the next one holds. */
export function encodeFrame(macKey: Buffer, frame: NewFrame): Frame {
  const lists = payloadNames.map((name) => frame.entries[name]);
  const count = lists.reduce((sum, list) => sum + list.length, 0);
  if (count > entriesMax) throw new RangeError(`a frame has at most ${entriesMax} entries; found ${count}`);
  const head = Buffer.alloc(listAt + count * listedBytes + macBytes);
  magic.copy(head);
  head.writeUInt32BE(version, magic.length);
  head.writeBigUInt64BE(BigInt(frame.number), numberAt);
  head.writeBigUInt64BE(BigInt(frame.atMs), timeAt);
  head.set(frame.previousMac, previousAt);
  let at = listAt;
  const payloads = lists.map((list, index) => {
    head.writeUInt32BE(list.length, countsAt + 4 * index);
    const payload = joined(list);
    for (const { text, sha256 } of list) {
      head.writeUInt32BE(Buffer.byteLength(text), at);
      head.write(sha256 ?? hash("sha256", text, "hex"), at + 4, "hex");
      at += listedBytes;
    }
    return payload;
  });
  sealFrame(macKey, head.subarray(0, at)).copy(head, at);
  return { head, payloads: byName((_name, index) => payloads[index]!) };
}

/** Each by itself: two halves of a character at the end of one text and the beginning of the next must not become one. */
function joined(list: readonly NewEntry[]): Buffer {
  const payload = Buffer.alloc(list.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0));
  let at = 0;
  for (const { text } of list) at += payload.write(text, at);
  return payload;
}

/** How long the head is that begins with these bytes; null if no head of this version does. */
export function headBytes(bytes: Uint8Array): number | null {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.length < listAt || !view.subarray(0, magic.length).equals(magic)) return null;
  if (view.readUInt32BE(magic.length) !== version) return null;
  let count = 0;
  for (let index = 0; index < payloadNames.length; index++) count += view.readUInt32BE(countsAt + 4 * index);
  return count > entriesMax ? null : listAt + count * listedBytes + macBytes;
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
  let at = listAt;
  const lists = byName((_name, index) =>
    Array.from({ length: head.readUInt32BE(countsAt + 4 * index) }, (): ListedEntry => {
      const entry = { bytes: head.readUInt32BE(at), sha256: head.subarray(at + 4, at + listedBytes) };
      at += listedBytes;
      return entry;
    }),
  );
  return {
    number: Number(head.readBigUInt64BE(numberAt)),
    atMs: Number(head.readBigUInt64BE(timeAt)),
    previousMac: head.subarray(previousAt, countsAt),
    lists,
    mac: head.subarray(-macBytes),
  };
}

/**
 * Where the list of a payload begins in a head, and where its entries begin in the payload, with the end of the last one. Nothing is
 * made for each entry, because a large frame has thousands of them and a reader wants one.
 */
export function listedEntries(head: Buffer, name: PayloadName): { listAt: number; starts: Uint32Array } {
  if (headBytes(head) !== head.length) return { listAt: 0, starts: new Uint32Array(1) };
  const payload = payloadNames.indexOf(name);
  let at = listAt;
  for (let index = 0; index < payload; index++) at += listedBytes * head.readUInt32BE(countsAt + 4 * index);
  const count = head.readUInt32BE(countsAt + 4 * payload);
  const starts = new Uint32Array(count + 1);
  for (let index = 0; index < count; index++)
    starts[index + 1] = starts[index]! + head.readUInt32BE(at + listedBytes * index);
  return { listAt: at, starts };
}

export function macOf({ head }: Frame): Buffer {
  return head.subarray(-macBytes);
}

export function byName<T>(make: (name: PayloadName, index: number) => T): Record<PayloadName, T> {
  return Object.fromEntries(payloadNames.map((name, index) => [name, make(name, index)])) as Record<
    PayloadName,
    T
  >;
}
