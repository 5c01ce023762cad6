import { hash } from "node:crypto";
import { type Frame, type Head, type PayloadName, payloadNames } from "./frame.ts";

/** `removed`: retention has taken its bytes, and its hash is all that is left. */
type EntryState = "kept" | "removed" | "damaged";

type Entry = { state: EntryState; bytes: Buffer };

/** The place of an entry; null names the payload itself, which has bytes that belong to no entry. */
export type EntryFault = { payload: PayloadName; index: number | null };

/** One entry and whether its bytes are those that the head lists. The head must have been opened. Why: ADR 0105. */
export function readEntry(head: Head, frame: Frame, payload: PayloadName, index: number): Entry {
  const list = head.lists[payload];
  const start = startOf(list, index);
  return entryAt(frame.payloads[payload], start, list[index]!);
}

/** All entries of a payload, in order. */
export function readEntries(head: Head, frame: Frame, payload: PayloadName): Entry[] {
  let start = 0;
  return head.lists[payload].map((listed) => {
    const entry = entryAt(frame.payloads[payload], start, listed);
    start += listed.bytes;
    return entry;
  });
}

/** What is damaged in the payloads, entry by entry. */
export function findDamage(head: Head, frame: Frame): EntryFault[] {
  return payloadNames.flatMap((payload) => {
    const faults: EntryFault[] = readEntries(head, frame, payload).flatMap(({ state }, index) =>
      state === "damaged" ? [{ payload, index }] : [],
    );
    const listed = startOf(head.lists[payload], head.lists[payload].length);
    const isLonger = (frame.payloads[payload]?.length ?? 0) > listed;
    return isLonger ? [...faults, { payload, index: null }] : faults;
  });
}

/** Overwrites an entry with zeros. All others keep their places, and the head its hash. */
export function removeEntry(head: Head, frame: Frame, payload: PayloadName, index: number): void {
  const list = head.lists[payload];
  const start = startOf(list, index);
  frame.payloads[payload]?.fill(0, start, start + list[index]!.bytes);
}

function startOf(list: Head["lists"][PayloadName], index: number): number {
  let start = 0;
  for (let before = 0; before < index; before++) start += list[before]!.bytes;
  return start;
}

function entryAt(payload: Buffer | null, start: number, listed: { bytes: number; sha256: Buffer }): Entry {
  const bytes = payload?.subarray(start, start + listed.bytes) ?? Buffer.alloc(0);
  const isWhole = bytes.length === listed.bytes;
  if (isWhole && hash("sha256", bytes, "buffer").equals(listed.sha256)) return { state: "kept", bytes };
  const isGone = payload === null || (isWhole && bytes.every((byte) => byte === 0));
  return { state: isGone ? "removed" : "damaged", bytes: Buffer.alloc(0) };
}
