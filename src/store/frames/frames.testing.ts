import fc from "fast-check";
import { eventTable } from "../../core/events.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { firstHash } from "../log/audit-record.ts";
import { sealText } from "../log/seal-text.ts";
import { type StoredEvent, storedEvent } from "../log/stored-event.ts";
import { writeEvent } from "./event-entry.ts";
import { type EntryLists, emptyLists, encodeFrame, type Frame, firstMac, macOf } from "./frame.ts";
import { writePacked } from "./packed-text.ts";

export const macKey: Buffer = Buffer.alloc(32, 7);

const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

/** Any text that an entry can be, with halves of characters. Nothing that we write is empty or only zeros. */
const text = fc.string({ unit, minLength: 1, maxLength: 40 }).filter((any) => !/^\0+$/.test(any));

/** The texts of a frame. Events are what is said in their details, jobs any bytes. */
export type FrameTexts = Record<keyof EntryLists, string[]>;
const names: (keyof EntryLists)[] = ["jobs", "changes", "documents", "receipts", "events"];

/** The texts of a log, for each frame. */
export const anyLog = fc.array(
  fc.record(Object.fromEntries(names.map((name) => [name, fc.array(text, { maxLength: 4 })]))),
  { minLength: 1, maxLength: 5 },
) as fc.Arbitrary<FrameTexts[]>;

/** An event as it is stored under this number, with this text in its details. */
export function anEvent(reason: string, seq: number): StoredEvent {
  const event = "PERMISSION_DENIED" as const;
  const plain = { event, ts: 1_000, tenantId: "acme", jobId: null, ownerId: null, details: { reason } };
  return storedEvent({ ...plain, origin: null }, seq);
}

/** Frames that follow each other, with records of an audit trail that do as well. */
export function encodeLog(log: Partial<FrameTexts>[], key = macKey): Frame[] {
  let previousMac: Buffer = firstMac;
  let previousHash = firstHash;
  let firstEvent = 1;
  return log.map((texts, index) => {
    const chained = listsOf(texts, { firstEvent, previousHash });
    const facts = { number: index + 1, atMs: 1_000 + index, previousMac, firstEvent, previousHash };
    const frame = encodeFrame(key, facts, chained.lists);
    previousMac = macOf(frame);
    previousHash = chained.lastHash;
    firstEvent += texts.events?.length ?? 0;
    return frame;
  });
}

/** What a group with these texts has collected. */
export function listsOf(
  texts: Partial<FrameTexts>,
  after: { firstEvent: number; previousHash: string },
): { lists: EntryLists; lastHash: string } {
  const lists = emptyLists();
  for (const name of ["jobs", "changes", "documents"] as const)
    for (const each of texts[name] ?? []) {
      lists[name].bytes.text(each);
      lists[name].end();
    }
  for (const each of texts.receipts ?? []) {
    writePacked(lists.receipts.bytes, lists.receipts.texts, each);
    lists.receipts.end(sha256Hex(each));
  }
  let lastHash = after.previousHash;
  for (const [index, reason] of (texts.events ?? []).entries()) {
    const stored = anEvent(reason, after.firstEvent + index);
    const { severity } = eventTable[stored.event];
    writeEvent(lists.events.bytes, lists.events.texts, { stored, severity });
    lastHash = sha256Hex(sealText(stored, { severity, prevHash: lastHash }));
    lists.events.end(lastHash);
  }
  return { lists, lastHash };
}
