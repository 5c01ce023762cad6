// Frames one after the other in a log: their bytes, and how a torn end is told from damage. Why: ADR 0105.
import { type EntryFault, findDamage, readEntries } from "./entries.ts";
import {
  byName,
  type Frame,
  type Head,
  headBytes,
  listedEntries,
  magic,
  openHead,
  payloadNames,
} from "./frame.ts";

/**
 * What is wrong in a log. `list`: the head of this frame is damaged, or the frame is gone; it cannot be known which of its entries
 * are right. `order`: the frame is genuine, but does not follow the one before. `records`: its first record of the audit trail does not follow the last
 * one before it. `entry`: this entry is not what was written.
 */
export type FrameFault =
  | { frame: number; what: "list" | "order" | "records" }
  | ({ frame: number; what: "entry" } & EntryFault);

type LoggedFrame = { head: Head; frame: Frame; at: number };

type Replay = {
  frames: LoggedFrame[];
  faults: FrameFault[];
  /** Where the next frame is written: a torn last frame is overwritten. */
  endBytes: number;
};

type LogPosition = {
  /** The frame that comes first, and the MAC that it must follow. */
  number: number;
  previousMac: Uint8Array;
  /** Everything before this was synced, so what is wrong there is damage and never a torn write. */
  syncedBytes: number;
};

/** The bytes of a frame in a log: its head, then its payloads in order. */
export function logBytes({ head, payloads }: Frame): Buffer {
  return Buffer.concat([head, ...payloadNames.map((name) => payloads[name] ?? Buffer.alloc(0))]);
}

/**
 * Reads a log from its beginning. A frame is appended after the one before was synced, so only the last one can be torn: beyond
 * what is known to be synced, a frame that lacks anything, with no genuine frame behind it, is cut off. Zeros count as lacking
 * there, because a log is filled with them before it is written, and retention removes nothing that new.
 */
export function replayLog(macKey: Buffer, log: Buffer, from: LogPosition): Replay {
  const frames: LoggedFrame[] = [];
  const faults: FrameFault[] = [];
  let { number, previousMac } = from;
  let at = 0;
  while (at < log.length) {
    const found = frameAt(macKey, log, at);
    const isWhole = found !== null && isComplete(found);
    const next = isWhole ? null : nextFrameAfter(macKey, log, at + (found?.bytes ?? 1), number);
    if (!isWhole && next === null && at >= from.syncedBytes) break;
    if (found === null) {
      for (const end = next?.head.number ?? number + 1; number < end; number++)
        faults.push({ frame: number, what: "list" });
      if (next === null) return { frames, faults, endBytes: from.syncedBytes };
      at = next.at;
      previousMac = next.head.previousMac;
      continue;
    }
    const { head, frame } = found;
    faults.push(...faultsOf(found, { number, previousMac }));
    frames.push({ head, frame, at });
    number = head.number + 1;
    previousMac = head.mac;
    at += found.bytes;
  }
  return { frames, faults, endBytes: at };
}

function faultsOf(
  { head, frame }: FoundFrame,
  after: Pick<LogPosition, "number" | "previousMac">,
): FrameFault[] {
  const follows = head.number === after.number && head.previousMac.equals(after.previousMac);
  const damage = findDamage(head, frame).map((fault) => ({
    frame: head.number,
    what: "entry" as const,
    ...fault,
  }));
  return follows ? damage : [{ frame: head.number, what: "order" }, ...damage];
}

function isComplete({ head, frame }: FoundFrame): boolean {
  return payloadNames.every((name) => readEntries(head, frame, name).every(({ state }) => state === "kept"));
}

type FoundFrame = { head: Head; frame: Frame; bytes: number };

/** The genuine frame that begins here and is as long as its head says; its entries may still be damaged. */
function frameAt(macKey: Buffer, log: Buffer, at: number): FoundFrame | null {
  const length = headBytes(log.subarray(at));
  if (length === null || at + length > log.length) return null;
  const headOnly = log.subarray(at, at + length);
  const head = openHead(macKey, headOnly);
  if (head === null) return null;
  let end = at + length;
  const payloads = byName((name) => {
    const start = end;
    end += listedEntries(headOnly, name).starts.at(-1)!;
    return log.subarray(start, end);
  });
  return end > log.length ? null : { head, frame: { head: headOnly, payloads }, bytes: end - at };
}

/** The first genuine frame behind this place with a number from here on: an older one was copied there. */
function nextFrameAfter(
  macKey: Buffer,
  log: Buffer,
  from: number,
  number: number,
): { head: Head; at: number } | null {
  for (let at = log.indexOf(magic, from); at !== -1; at = log.indexOf(magic, at + 1)) {
    const found = frameAt(macKey, log, at);
    if (found !== null && found.head.number > number) return { head: found.head, at };
  }
  return null;
}
