import { hash } from "node:crypto";
import { type Frame, type Head, listedEntries, type PayloadName, payloadNames } from "./frame.ts";
import { readPacked } from "./packed-text.ts";
import { isProven, isZeros, recordsOf } from "./records.ts";
import { readSharedTexts } from "./shared-texts.ts";

/** `removed`: retention has taken its bytes, and its hash is all that is left. */
type EntryState = "kept" | "removed" | "damaged";

type Entry = { state: EntryState; bytes: Buffer };

/** The place of an entry; null names the payload itself, which has bytes that belong to no entry. */
export type EntryFault = { payload: PayloadName; index: number | null };

/**
 * All entries of a payload, in order, and whether each is what the head lists. The head must have been opened. Where entries share texts,
 * those are the last entry. Why: ADR 0105.
 */
export function readEntries(head: Head, frame: Frame, name: PayloadName): Entry[] {
  const { starts } = listedEntries(frame.head, name);
  const payload = frame.payloads[name];
  const entries = head.lists[name].map((listed, index) =>
    entryAt(payload, { start: starts[index]!, ...listed }),
  );
  if (name === "receipts") judgeReceipts(head, frame, entries);
  if (name === "events") judgeRecords(head, frame, entries);
  return entries;
}

/** A receipt is listed by the hash of its whole text. */
function judgeReceipts(head: Head, frame: Frame, entries: Entry[]): void {
  const { starts } = listedEntries(frame.head, "receipts");
  const texts = readSharedTexts(bytesOf(frame.payloads.receipts, starts, entries.length - 1));
  for (let index = 0; index < entries.length - 1; index++) {
    if (entries[index]!.state === "removed") continue;
    const packed = bytesOf(frame.payloads.receipts, starts, index);
    const text = readPacked(packed, texts);
    const isListed =
      text !== null && hash("sha256", text, "buffer").equals(head.lists.receipts[index]!.sha256);
    entries[index] = isListed ? { state: "kept", bytes: packed } : damaged;
  }
}

function bytesOf(payload: Buffer | null, starts: Uint32Array, index: number): Buffer {
  return payload?.subarray(starts[index], starts[index + 1]) ?? Buffer.alloc(0);
}

/** An event is listed by the hash of its record. */
function judgeRecords(head: Head, frame: Frame, entries: Entry[]): void {
  const { starts } = listedEntries(frame.head, "events");
  const payload = frame.payloads.events;
  let index = 0;
  for (const record of recordsOf({ head: frame.head, firstEvent: head.firstEvent, payload })) {
    if (!record.isRemoved)
      entries[index] = isProven(record) ? { state: "kept", bytes: bytesOf(payload, starts, index) } : damaged;
    index++;
  }
}

/** What is damaged in the payloads, entry by entry. */
export function findDamage(head: Head, frame: Frame): EntryFault[] {
  return payloadNames.flatMap((payload) => {
    const faults: EntryFault[] = readEntries(head, frame, payload).flatMap(({ state }, index) =>
      state === "damaged" ? [{ payload, index }] : [],
    );
    const listed = listedEntries(frame.head, payload).starts.at(-1)!;
    const isLonger = (frame.payloads[payload]?.length ?? 0) > listed;
    return isLonger ? [...faults, { payload, index: null }] : faults;
  });
}

/** Overwrites an entry with zeros. All others keep their places, and the head its hash. */
export function removeEntry(frame: Frame, payload: PayloadName, index: number): void {
  const { starts } = listedEntries(frame.head, payload);
  frame.payloads[payload]?.fill(0, starts[index], starts[index + 1]);
}

const damaged: Entry = { state: "damaged", bytes: Buffer.alloc(0) };

function entryAt(payload: Buffer | null, listed: { start: number; bytes: number; sha256: Buffer }): Entry {
  if (payload === null) return { state: "removed", bytes: Buffer.alloc(0) };
  const bytes = payload.subarray(listed.start, listed.start + listed.bytes);
  if (bytes.length < listed.bytes) return damaged;
  // A newer line of a job has no document of its own, only the hash of the one that stays where it is.
  if (listed.bytes === 0 || hash("sha256", bytes, "buffer").equals(listed.sha256))
    return { state: "kept", bytes };
  return isZeros(bytes) ? { state: "removed", bytes: Buffer.alloc(0) } : damaged;
}
