import { firstHash } from "../log/audit-record.ts";
import { type EntryFault, findDamage, readEntries } from "./entries.ts";
import { type Frame, firstMac, type Head, readHead } from "./frame.ts";
import type { FrameFault } from "./frame-log.ts";

/** Where a check begins: after this record of the audit trail and this frame. */
type ChainStart = { prevHash: string; number: number; previousMac: Uint8Array };

type ChainVerdict = { faults: FrameFault[]; prevHash: string };

/**
 * Checks frames by what is public in them, without the MAC key: every entry that is left against its hash in the list, every
 * record of the audit trail against the hash of the one before, and each frame against the MAC of the one before. The hash of a
 * record is the SHA-256 of its entry, so a record that retention has removed still links its neighbours. Somebody who rewrites a
 * frame and all frames after it is noticed by the signed head of the trail, or by the MAC key. Why: ADR 0105.
 */
export function checkChain(frames: readonly Frame[], start: ChainStart): ChainVerdict {
  const faults: FrameFault[] = [];
  let { prevHash, number, previousMac } = start;
  for (const frame of frames) {
    const head = readHead(frame.head);
    if (head === null) {
      faults.push({ frame: number, what: "list" });
      // What it listed is not known, so the next frame cannot be compared with it.
      return { faults, prevHash };
    }
    if (head.number !== number || !head.previousMac.equals(previousMac))
      faults.push({ frame: head.number, what: "order" });
    faults.push(...findDamage(head, frame).map((fault) => entryFault(head, fault)));
    const linked = checkLinks(head, frame, prevHash);
    faults.push(...linked.faults);
    prevHash = linked.prevHash;
    number = head.number + 1;
    previousMac = head.mac;
  }
  return { faults, prevHash };
}

function checkLinks(head: Head, frame: Frame, first: string): ChainVerdict {
  const faults: FrameFault[] = [];
  let prevHash = first;
  for (const [index, { state, bytes }] of readEntries(head, frame, "events").entries()) {
    if (state === "kept" && prevHashOf(bytes) !== prevHash)
      faults.push(entryFault(head, { payload: "events", index }));
    prevHash = head.lists.events[index]!.sha256.toString("hex");
  }
  return { faults, prevHash };
}

function prevHashOf(record: Buffer): unknown {
  try {
    return (JSON.parse(record.toString("utf8")) as { prev_hash?: unknown } | null)?.prev_hash;
  } catch {
    return undefined;
  }
}

function entryFault(head: Head, fault: EntryFault): FrameFault {
  return { frame: head.number, what: "entry", ...fault };
}

/** Where the check of a whole log begins. */
export const chainBeginning: ChainStart = { prevHash: firstHash, number: 1, previousMac: firstMac };
