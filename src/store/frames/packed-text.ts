import { sha256Hex } from "../../signing/mac.ts";
import { emptySha256 } from "../../signing/receipt.ts";
import { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { idOfHex } from "./job-line.ts";
import type { SharedTexts } from "./shared-texts.ts";

/** What differs between the receipts of a batch: an id, a hash, a time in ms. A control character stands in its place. */
const values = /[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[1-9]\d{12}\b/g;
const marks = { hash: "\u0001", id: "\u0002", time: "\u0003" } as const;
const anyMark = /[\u0001-\u0003]/g;
/** Hashes that nearly all receipts have: of no output, and of a result that is null. */
const common = new Set([emptySha256, sha256Hex("null")]);

/**
 * Appends a text as the part that others share and the values that they do not. Any text can be read again as it was, because one
 * in which nothing may be replaced is shared as it is. Why: ADR 0105.
 */
export function writePacked(bytes: ByteWriter, texts: SharedTexts, text: string): void {
  // Without a mark of its own, and with whole characters only: halves would not be the same after they were written.
  if (text.search(anyMark) !== -1 || !text.isWellFormed()) {
    bytes.byte(0);
    bytes.text(text);
    return;
  }
  const found: string[] = [];
  const shared = text.replace(values, (value) => {
    if (common.has(value)) return value;
    found.push(value);
    return value.length === 64 ? marks.hash : value.length === 36 ? marks.id : marks.time;
  });
  bytes.varint(texts.numberOf(shared) + 1);
  for (const value of found) {
    if (value.length === 13) bytes.time(Number(value));
    else bytes.hex(value.length === 64 ? value : value.replaceAll("-", ""));
  }
}

/** Null if the entry cannot be read. */
export function readPacked(entry: Buffer, texts: readonly string[]): string | null {
  try {
    const bytes = new ByteReader(entry);
    const number = bytes.varint();
    if (number === 0) return entry.toString("utf8", 1);
    const text = texts[number - 1]?.replace(anyMark, (mark) => {
      if (mark === marks.time) return String(bytes.time());
      return mark === marks.hash ? bytes.hex(32) : idOfHex(bytes.hex(16));
    });
    return bytes.isAtEnd ? (text ?? null) : null;
  } catch {
    // The bytes are not those of a receipt.
    return null;
  }
}
