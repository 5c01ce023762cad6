import { WritError } from "../../core/errors.ts";

/** Flag and length in front of every message. */
const prefixBytes = 5;
/** Prefix, three tags, an offset and an attempt and a length as varints, at their longest. */
const headBytesMax = prefixBytes + 1 + 10 + 1 + 5 + 1 + 5;

const offsetTag = 0x10;
const attemptTag = 0x18;
const dataTag = 0x0a;

/** How much room the messages of a piece need at most. */
export function framedBytesMax(pieceBytes: number, chunkBytes: number): number {
  return pieceBytes + Math.ceil(pieceBytes / chunkBytes) * headBytesMax;
}

/**
 * A piece of output as StreamOutputResponse messages of at most `chunkBytes` each, written into one buffer that is
 * ready for the stream. Three fields are all that the message has, and data comes last, so a message is a short head
 * and the bytes behind it; a generic encoder would copy them twice more and hand each message over on its own.
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

/** The one message of a request. Compressed ones are refused: nothing here is large enough to gain by it. */
export function unframeRequest(bytes: Buffer): Buffer {
  if (bytes.length < prefixBytes) throw broken("holds no message");
  if (bytes[0] !== 0) throw new WritError("METHOD_NOT_ALLOWED", "compressed messages are not taken");
  if (bytes.length !== prefixBytes + bytes.readUInt32BE(1)) throw broken("must hold exactly one message");
  return bytes.subarray(prefixBytes);
}

/** Zero is what an absent field means, so it is not written. */
function writeField(into: Buffer, at: number, tag: number, value: number): number {
  if (value === 0) return at;
  into[at] = tag;
  return writeVarint(into, at + 1, value);
}

/** By division, because an offset may need more than the 32 bits that shifts have. */
function writeVarint(into: Buffer, at: number, value: number): number {
  let rest = value;
  while (rest >= 0x80) {
    into[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  into[at++] = rest;
  return at;
}

function broken(why: string): WritError {
  return new WritError("INVALID_ARGUMENT", `the request ${why}`);
}
