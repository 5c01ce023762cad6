import { firstHash } from "../log/audit-record.ts";
import { type EntryFault, findDamage } from "./entries.ts";
import { type Frame, firstMac, readHead } from "./frame.ts";
import type { FrameFault } from "./frame-log.ts";
import { eventsListed, lastHashIn } from "./records.ts";

/** Where a check begins: after this record of the audit trail and this frame. */
type ChainStart = {
  lastEvent: number;
  prevHash: string;
  number: number;
  previousMac: Uint8Array;
  /** Numbers of the trail that were left out, and the hash that the next record follows. */
  skipped?: readonly { throughSeq: number; hash: string }[];
};

type ChainVerdict = { faults: FrameFault[]; prevHash: string };

/**
 * Checks frames by what is public in them, without the MAC key: every entry that is left against its hash in the list, the first
 * record of each frame against the number and the hash of the one before, and each frame against the MAC of the one before. A
 * record is made from its entry and the hash before it, so one that retention has removed still links its neighbours.
 * Somebody who rewrites a frame and all frames after it is noticed by the signed head of the trail, or by the MAC key. Why: ADR 0105.
 */
export function checkChain(frames: readonly Frame[], start: ChainStart): ChainVerdict {
  const faults: FrameFault[] = [];
  let { lastEvent, prevHash, number, previousMac } = start;
  for (const frame of frames) {
    const head = readHead(frame.head);
    if (head === null) {
      faults.push({ frame: number, what: "list" });
      // What it listed is not known, so the next frame cannot be compared with it.
      return { faults, prevHash };
    }
    if (head.number !== number || !head.previousMac.equals(previousMac))
      faults.push({ frame: head.number, what: "order" });
    faults.push(...findDamage(head, frame).map((fault) => entryFault(head.number, fault)));
    const skipped = start.skipped?.find(({ throughSeq }) => throughSeq === head.firstEvent - 1);
    const before = skipped?.hash ?? prevHash;
    if ((skipped === undefined && head.firstEvent !== lastEvent + 1) || head.previousHash !== before)
      faults.push({ frame: head.number, what: "records" });
    lastEvent = head.firstEvent + eventsListed(frame.head) - 1;
    prevHash = lastHashIn(frame.head);
    number = head.number + 1;
    previousMac = head.mac;
  }
  return { faults, prevHash };
}

function entryFault(frame: number, fault: EntryFault): FrameFault {
  return { frame, what: "entry", ...fault };
}

/** Where the check of a whole log begins. */
export const chainBeginning: ChainStart = {
  lastEvent: 0,
  prevHash: firstHash,
  number: 1,
  previousMac: firstMac,
};
