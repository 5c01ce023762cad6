import { isSharing, listedEntries, type PayloadName } from "../../frames/frame.ts";
import type { Context } from "../context.ts";
import { foldFrames } from "./fold-frames.ts";
import { readFrameHead, readPayload, removePayload, replacePayload } from "./frame-rows.ts";

type RemovedEntry = { frame: number; payload: PayloadName; place: number };

/**
 * Overwrites entries with zeros where they are; a payload of nothing else is dropped. Heads keep the hashes, so that a check
 * of the frame finds them removed and not missing. Why: ADR 0116.
 */
export function removeEntries(context: Context, entries: RemovedEntry[]): void {
  const { sql, frames } = context;
  const emptied = new Set<number>();
  if (entries.length > 0) context.removal = "some";
  for (const ofPayload of Map.groupBy(entries, ({ frame, payload }) => `${frame} ${payload}`).values()) {
    const { frame, payload } = ofPayload[0]!;
    const head = readFrameHead(sql, frame);
    const bytes = readPayload(sql, frame, payload);
    frames.forget(frame);
    if (head === null || bytes === null) continue;
    const { starts } = listedEntries(head, payload);
    const left = Buffer.from(bytes);
    for (const { place } of ofPayload) left.fill(0, starts[place], starts[place + 1]);
    if (isNothingLeft(payload, left, starts)) {
      removePayload(sql, frame, payload);
      emptied.add(frame);
    } else replacePayload(sql, frame, payload, left);
  }
  foldFrames(context, emptied);
}

/** The texts that entries share, which come last, are of no use without any of them. */
function isNothingLeft(payload: PayloadName, bytes: Buffer, starts: Uint32Array): boolean {
  const end = isSharing(payload) ? starts.at(-2) : starts.at(-1);
  return bytes.subarray(0, end).every((byte) => byte === 0);
}
