import { eventTable, type NewEvent } from "../../../core/events.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import { sealText } from "../../log/seal-text.ts";
import { storedEvent } from "../../log/stored-event.ts";
import type { Context } from "../context.ts";

/** Adds one event to the frame, listed by the hash of its record in the audit trail, which follows the one before. Why: ADR 0004, ADR 0116. */
export function appendEvent(context: Context, event: NewEvent & { jobSeq?: number | null }): void {
  const stored = storedEvent(event, context.tallies.add("event_seq", 1));
  const { severity } = eventTable[stored.event];
  const sha256 = sha256Hex(sealText(stored, { severity, prevHash: context.chainEnd }));
  context.frame.addEvent({ stored, severity }, sha256);
  context.chainEnd = sha256;
}
