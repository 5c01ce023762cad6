import fc from "fast-check";
import { canonicalize } from "../../signing/canonical.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { firstHash } from "../log/audit-record.ts";
import { byName, encodeFrame, type Frame, firstMac, macOf, type NewFrame, payloadNames } from "./frame.ts";

export const macKey: Buffer = Buffer.alloc(32, 7);

const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

/** Any text that an entry can be, with halves of characters. Nothing that we write is empty or only zeros. */
const text = fc.string({ unit, minLength: 1, maxLength: 40 }).filter((any) => !/^\0+$/.test(any));

/** The texts of a log: for each frame, those of its payloads. Events are the names of records. */
export const anyLog = fc.array(
  fc.record(Object.fromEntries(payloadNames.map((name) => [name, fc.array(text, { maxLength: 4 })]))),
  { minLength: 1, maxLength: 5 },
) as fc.Arbitrary<Record<(typeof payloadNames)[number], string[]>[]>;

/** Frames that follow each other, with records of an audit trail that do as well. */
export function encodeLog(log: Record<(typeof payloadNames)[number], string[]>[]): Frame[] {
  let previousMac: Buffer = firstMac;
  let prevHash = firstHash;
  return log.map((texts, index) => {
    const events = texts.events.map((event) => {
      const record = canonicalize({ event: Buffer.from(event).toString("hex"), prev_hash: prevHash });
      prevHash = sha256Hex(record);
      return record;
    });
    const entries: NewFrame["entries"] = byName((name) =>
      (name === "events" ? events : texts[name]).map((entry) => ({ text: entry })),
    );
    const frame = encodeFrame(macKey, { number: index + 1, atMs: 1_000 + index, previousMac, entries });
    previousMac = macOf(frame);
    return frame;
  });
}
