import { columnsOf, hasSpecial, plainLook, readAnsi, type Span } from "./read-ansi.ts";

export type Line = {
  /** The offset in the stream at which it begins. */
  offset: number;
  columns: number;
  bytes: Uint8Array;
  /** Read when the line is first shown or searched: most lines never are. */
  spans: readonly Span[] | null;
};

/** How much of a stream is held: whole lines around the part on the screen. */
export const heldBytesMax = 4 * 1024 * 1024;
/** A line without an end is cut here, so that no row grows without bound. */
const lineBytesMax = 4096;

const lineFeed = 10;
const carriageReturn = 13;

/** The lines between two offsets of a stream. New bytes come at the end, older ones at the start. */
export class OutputBuffer {
  readonly lines: Line[] = [];
  /** The first byte that is held, and the first after the held part. */
  start: number;
  end: number;
  /** The number of the first line; null until the start of the stream has been read. */
  firstNumber: number | null;
  #tail: Uint8Array = new Uint8Array(0);

  constructor(start: number) {
    this.start = start;
    this.end = start;
    this.firstNumber = start === 0 ? 1 : null;
  }

  /** Adds bytes at the end. The unfinished last line is shown too and replaced when it grows. */
  append(bytes: Uint8Array): void {
    if (this.#tail.length > 0) this.lines.pop();
    const all = joined(this.#tail, bytes);
    const from = this.end - this.#tail.length;
    this.end += bytes.length;
    const { lines, rest } = split(all, from);
    for (const line of lines) this.lines.push(line);
    this.#tail = all.slice(all.length - rest);
    if (rest > 0) this.lines.push(lineOf(this.#tail, this.end - rest));
    this.#dropFirst();
  }

  /** Adds bytes that end where the buffer begins. The first line among them may have begun before: it is cut. */
  prepend(bytes: Uint8Array): number {
    const from = this.start - bytes.length;
    const skip = from === 0 ? 0 : bytes.indexOf(lineFeed) + 1;
    const { lines, rest } = split(bytes.subarray(skip), from + skip);
    if (rest > 0) lines.push(lineOf(bytes.subarray(bytes.length - rest), this.start - rest));
    this.lines.unshift(...lines);
    this.start = from + skip;
    this.firstNumber = this.start === 0 ? 1 : null;
    return lines.length;
  }

  #dropFirst(): void {
    let dropped = 0;
    while (this.end - (this.lines[dropped]?.offset ?? this.end) > heldBytesMax) dropped += 1;
    if (dropped === 0) return;
    this.lines.splice(0, dropped);
    this.start = this.lines[0]?.offset ?? this.end;
    if (this.firstNumber !== null) this.firstNumber += dropped;
  }
}

/** A progress bar goes back to the start of its line; each of its states is shown as a line. */
function split(bytes: Uint8Array, offset: number): { lines: Line[]; rest: number } {
  const lines: Line[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    const isBreak =
      byte === lineFeed || (byte === carriageReturn && bytes[at + 1] !== lineFeed && at + 1 < bytes.length);
    if (!isBreak && at - from < lineBytesMax) continue;
    const isCut = !isBreak;
    const to = isCut ? wholeCharacter(bytes, at) : at;
    lines.push(lineOf(bytes.subarray(from, to), offset + from));
    from = isCut ? to : at + 1;
  }
  return { lines, rest: bytes.length - from };
}

/** The start of the UTF-8 character at or before this place. */
function wholeCharacter(bytes: Uint8Array, at: number): number {
  let place = at;
  while (place > at - 4 && (bytes[place]! & 0xc0) === 0x80) place -= 1;
  return place;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function lineOf(bytes: Uint8Array, offset: number): Line {
  const end = bytes.at(-1) === carriageReturn ? bytes.length - 1 : bytes.length;
  const line: Line = { offset, columns: end, bytes: bytes.subarray(0, end), spans: null };
  // Only plain ASCII is as wide as it is long.
  if (!line.bytes.every(isPlain)) line.columns = columnsOf(spansOf(line));
  return line;
}

function isPlain(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || byte === 9;
}

export function spansOf(line: Line): readonly Span[] {
  if (line.spans === null) {
    const text = decoder.decode(line.bytes);
    line.spans = hasSpecial(text) ? readAnsi(text) : [{ text, ...plainLook, isControl: false }];
  }
  return line.spans;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
