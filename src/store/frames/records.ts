import type { Origin } from "../../core/events.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { KnownTexts } from "../jobs/known-texts.ts";
import { sealText } from "../log/seal-text.ts";
import { type EntryEvent, readEvent } from "./event-entry.ts";
import { listedEntries, listedHash, previousHashIn } from "./frame.ts";
import { readSharedTexts } from "./shared-texts.ts";

/** A record of the audit trail, as it follows from a frame. Its event is true only if it is proven. */
export type FrameRecord = {
  seq: number;
  /** As the head lists it. */
  hash: string;
  prevHash: string;
  /** Retention has taken what it said. */
  isRemoved: boolean;
  /** Null if it was removed, or cannot be read. */
  event: EntryEvent | null;
};

/** The frame that holds the events, as far as their records follow from it. */
type Events = { head: Buffer; firstEvent: number; payload: Buffer | null };

/**
 * The records of a frame, in order. An entry leaves out what follows from the frame: its number from its place, and the hash before
 * it from the list. The hash in the list is that of the whole record, as it is published, so that it is proven by making the
 * record and hashing it, which takes no key. Why: ADR 0105.
 */
export function* recordsOf({ head, firstEvent, payload }: Events): Generator<FrameRecord> {
  const { listAt, starts } = listedEntries(head, "events");
  const count = starts.length - 2;
  const texts = textsOf(payload, starts);
  let prevHash = count < 0 ? "" : previousHashIn(head);
  for (let index = 0; index < count; index++) {
    const entry = payload?.subarray(starts[index], starts[index + 1]) ?? null;
    const hash = listedHash(head, listAt, index);
    yield recordOf({ entry, bytes: starts[index + 1]! - starts[index]! }, texts, {
      seq: firstEvent + index,
      hash,
      prevHash,
    });
    prevHash = hash;
  }
}

/** How many events a frame lists: all entries but the one with the texts that they share. */
export function eventsListed(head: Buffer): number {
  return Math.max(0, listedEntries(head, "events").starts.length - 2);
}

/** The hash of the last record before the next frame. */
export function lastHashIn(head: Buffer): string {
  const { listAt, starts } = listedEntries(head, "events");
  return starts.length < 3 ? previousHashIn(head) : listedHash(head, listAt, starts.length - 3);
}

function textsOf(payload: Buffer | null, starts: Uint32Array): string[] {
  if (payload === null || starts.length < 2) return [];
  return readSharedTexts(payload.subarray(starts.at(-2), starts.at(-1)));
}

function recordOf(
  { entry, bytes }: { entry: Buffer | null; bytes: number },
  texts: readonly string[],
  place: Pick<FrameRecord, "seq" | "hash" | "prevHash">,
): FrameRecord {
  const isRemoved = entry === null || (entry.length === bytes && isZeros(entry));
  return { ...place, isRemoved, event: isRemoved ? null : readEvent(entry, texts, place.seq) };
}

/** Whether a record has the hash that the head lists for it. */
export function isProven({ event, hash, prevHash }: FrameRecord): boolean {
  if (event === null) return false;
  const { stored, severity } = event;
  if (!spellings.of(stored.details) || (stored.origin !== null && !origins.of(stored.origin))) return false;
  return sha256Hex(sealText(stored, { severity, prevHash })) === hash;
}

/** A text that means the same in another spelling was not written by the hub, and must not pass for the original. */
const spellings = new KnownTexts((json) => isWrittenBy(json, (value) => value));
const origins = new KnownTexts((json) =>
  isWrittenBy(json, (value) => {
    const { userId, ipAddress, userAgent, endpoint, method } = value as Origin;
    return { userId, ipAddress, userAgent, endpoint, method };
  }),
);

function isWrittenBy(json: string, same: (value: unknown) => unknown): boolean {
  try {
    return JSON.stringify(same(JSON.parse(json))) === json;
  } catch {
    // It is no JSON at all.
    return false;
  }
}

export function isZeros(bytes: Buffer): boolean {
  return bytes[0] === 0 && bytes.every((byte) => byte === 0);
}
