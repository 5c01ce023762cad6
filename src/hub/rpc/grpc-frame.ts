import { WritError } from "../../core/errors.ts";
import { prefixBytes } from "../../runtime/http/grpc-message.ts";

/** Prefix, three tags, and offset, attempt and length as varints, at their longest. */
const headBytesMax = prefixBytes + 1 + 10 + 1 + 5 + 1 + 5;

const offsetTag = 0x10;
const attemptTag = 0x18;
const dataTag = 0x0a;

/** The most room that the messages of a piece need. */
export function framedBytesMax(pieceBytes: number, chunkBytes: number): number {
  return pieceBytes + Math.ceil(pieceBytes / chunkBytes) * headBytesMax;
}

/**
 * A piece of output as StreamOutputResponse messages of at most `chunkBytes` each, written into one buffer for the
 * stream. The message has only three fields, and data comes last, so it is a short header followed by the bytes; a
 * generic encoder would copy them twice more and pass on each message separately.
 */
export function frameOutput(
  piece: Uint8Array,
  message: { offset: number; attempt: number; chunkBytes: number; into: Buffer },
): Buffer {
  const { chunkBytes, attempt, into } = message;
  let at = 0;
  for (let start = 0; start < piece.length; start += chunkBytes) {
    const data = piece.subarray(start, start + chunkBytes);
    const prefixAt = at;
    at = writeField(into, at + prefixBytes, offsetTag, message.offset + start);
    at = writeField(into, at, attemptTag, attempt);
    into[at++] = dataTag;
    at = writeVarint(into, at, data.length);
    into.set(data, at);
    at += data.length;
    into[prefixAt] = 0;
    into.writeUInt32BE(at - prefixAt - prefixBytes, prefixAt + 1);
  }
  return into.subarray(0, at);
}

/** The messages of a request, as they arrive. Compressed ones are refused: nothing here is large enough to benefit. */
export class MessageReader {
  readonly #bytesMax: number;
  #parts: Buffer[] = [];
  #size = 0;
  /** With this many bytes there is something new to see: a prefix, or the end of a message. */
  #wanted = prefixBytes;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The messages that are complete with this part. */
  *add(part: Buffer): Generator<Buffer> {
    this.#parts.push(part);
    this.#size += part.length;
    while (this.#size >= this.#wanted) {
      const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
      const endsAt = this.#endOf(bytes);
      this.#keep(bytes, endsAt);
      if (bytes.length < endsAt) return;
      yield bytes.subarray(prefixBytes, endsAt);
      this.#keep(bytes.subarray(endsAt), prefixBytes);
    }
  }

  end(): void {
    if (this.#size > 0) throw broken("ends in the middle of a message");
  }

  #endOf(bytes: Buffer): number {
    if (bytes[0] !== 0) throw new WritError("METHOD_NOT_ALLOWED", "compressed messages are not accepted");
    const size = bytes.readUInt32BE(1);
    if (size <= this.#bytesMax) return prefixBytes + size;
    throw new WritError("TOO_LARGE", `a request may have at most ${this.#bytesMax} bytes`);
  }

  #keep(bytes: Buffer, wanted: number): void {
    this.#parts = bytes.length === 0 ? [] : [bytes];
    this.#size = bytes.length;
    this.#wanted = wanted;
  }
}

/** An absent field means zero, so zero is not written. */
function writeField(into: Buffer, at: number, tag: number, value: number): number {
  if (value === 0) return at;
  into[at] = tag;
  return writeVarint(into, at + 1, value);
}

/** By division, because an offset may need more than the 32 bits of shifts. */
function writeVarint(into: Buffer, at: number, value: number): number {
  let rest = value;
  while (rest >= 0x80) {
    into[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  into[at++] = rest;
  return at;
}

export function broken(why: string): WritError {
  return new WritError("INVALID_ARGUMENT", `the request ${why}`);
}
