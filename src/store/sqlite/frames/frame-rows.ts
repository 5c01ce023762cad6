import { type Frame, type PayloadName, payloadNames } from "../../frames/frame.ts";
import type { Connection } from "../database/connection.ts";

/** The numbers of the events in a frame. */
type EventRange = { firstEvent: number; lastEvent: number };

/**
 * Where frames are kept: rows of one SQLite file. A frame is there as soon as the transaction is committed that appended it. Nothing
 * else knows the form in which they are stored. Why: ADR 0116.
 */
export function appendFrame(
  sql: Connection,
  number: number,
  { frame, firstEvent, lastEvent }: EventRange & { frame: Frame },
): void {
  sql.run("INSERT INTO frames VALUES (?, ?, ?, ?)", number, firstEvent, lastEvent, frame.head);
  for (const name of payloadNames) {
    const bytes = frame.payloads[name];
    if (bytes !== null && bytes.length > 0)
      sql.run("INSERT INTO payloads VALUES (?, ?)", placeOf(number, name), bytes);
  }
}

export function readFrameHead(sql: Connection, number: number): Buffer | null {
  return bytesOf(sql.first("SELECT head AS bytes FROM frames WHERE number = ?", number));
}

/** The head with the number of the last event. */
export function readFrame(sql: Connection, number: number): { head: Buffer; lastEvent: number } | null {
  const row = sql.first<{ bytes: Uint8Array; lastEvent: number }>(
    "SELECT head AS bytes, last_event AS lastEvent FROM frames WHERE number = ?",
    number,
  );
  return row && { head: bytesOf(row)!, lastEvent: row.lastEvent };
}

/** Null if it was removed, or if the frame has no such entries. */
export function readPayload(sql: Connection, number: number, name: PayloadName): Buffer | null {
  const place = placeOf(number, name);
  return bytesOf(sql.first("SELECT bytes FROM payloads WHERE place = ?", place));
}

export function replacePayload(sql: Connection, number: number, name: PayloadName, bytes: Buffer): void {
  sql.run("UPDATE payloads SET bytes = ? WHERE place = ?", bytes, placeOf(number, name));
}

export function removePayload(sql: Connection, number: number, name: PayloadName): void {
  sql.run("DELETE FROM payloads WHERE place = ?", placeOf(number, name));
}

/** The last frame; null if there is none. */
export function lastFrame(sql: Connection): { number: number; head: Buffer; lastEvent: number } | null {
  const row = sql.first<{ number: number; bytes: Uint8Array; lastEvent: number }>(
    "SELECT number, head AS bytes, last_event AS lastEvent FROM frames ORDER BY number DESC LIMIT 1",
  );
  return row && { number: row.number, head: bytesOf(row)!, lastEvent: row.lastEvent };
}

/** The first frame that has an event with this number or a later one; null if there is none. Found by halving: no index is needed. */
export function frameOfEvent(sql: Connection, seq: number): number | null {
  const from = "SELECT number, last_event AS lastEvent FROM frames WHERE number >= ? ORDER BY number LIMIT 1";
  const last = sql.first<{ number: number; lastEvent: number }>(
    "SELECT number, last_event AS lastEvent FROM frames ORDER BY number DESC LIMIT 1",
  );
  if (last === null || last.lastEvent < seq) return null;
  let low = 1;
  let high = last.number;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const found = sql.first<{ number: number; lastEvent: number }>(from, middle)!;
    if (found.lastEvent >= seq) high = middle;
    else low = found.number + 1;
  }
  return sql.first<{ number: number }>(from, low)!.number;
}

/** The key of a payload. */
export function placeOf(number: number, name: PayloadName): number {
  return 8 * number + payloadNames.indexOf(name);
}

function bytesOf(row: { bytes: Uint8Array } | null): Buffer | null {
  return row && Buffer.from(row.bytes.buffer, row.bytes.byteOffset, row.bytes.length);
}
