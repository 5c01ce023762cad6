import { eventTable, type Severity } from "../../core/events.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { auditRecord, firstHash, type SealedRecord } from "./audit-record.ts";
import { sealText } from "./seal-text.ts";
import { readEvent, type StoredEvent } from "./stored-event.ts";

/** What the chain keeps of one event: its hash covers the record and the hash before it. */
export type ChainSeal = { seq: number; severity: Severity; hash: string };

/**
 * The seals of events after the last sealed one, in order of seq; the last seal is null if there is none.
 * Why: ADR 0014.
 */
export function chainEvents(last: ChainSeal | null, events: StoredEvent[]): ChainSeal[] {
  let prevHash = last?.hash ?? firstHash;
  return events.map((event) => {
    const seal = sealEvent(event, prevHash);
    prevHash = seal.hash;
    return seal;
  });
}

/** The seal of an event that follows the record with this hash. */
export function sealEvent(event: StoredEvent, prevHash: string): ChainSeal {
  const { severity } = eventTable[event.event];
  return { seq: event.seq, severity, hash: sha256Hex(sealText(event, { severity, prevHash })) };
}

/** An event and its seal as one record of the audit trail; the very first record has no seal before it. */
export function sealedRecord(
  stored: StoredEvent,
  seal: { severity: Severity; hash: string; prevHash: string | null },
): SealedRecord {
  const { severity, hash, prevHash } = seal;
  return { ...auditRecord(readEvent(stored), { severity, prevHash: prevHash ?? firstHash }), hash };
}
