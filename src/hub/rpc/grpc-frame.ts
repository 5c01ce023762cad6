import { prefixBytes } from "../../runtime/grpc/message-frames.ts";

/** Prefix, three tags, and offset, attempt and length as varints, at their longest. */
const headBytesMax = prefixBytes + 1 + 10 + 1 + 5 + 1 + 5;

const offsetTag = 0x10;
const attemptTag = 0x18;
const dataTag = 0x0a;

/** The largest size of a piece's messages. */
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
