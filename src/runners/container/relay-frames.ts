import type { OutputStream } from "../../core/output-stream.ts";

/**
 * How the output of a job leaves a container: pieces on the standard error of `writ-agent run-job --relay`. A frame is a
 * NUL, the number of the stream, the length as 4 bytes (big-endian) and the piece. What else is written there, by
 * `docker exec` for example, is text without a NUL between two frames.
 */
const headerBytes = 6;
const streams: readonly OutputStream[] = ["stdout", "stderr"];

export function encodeFrame(stream: OutputStream, piece: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + piece.length);
  frame[0] = 0;
  frame[1] = streams.indexOf(stream) + 1;
  frame.writeUInt32BE(piece.length, 2);
  frame.set(piece, headerBytes);
  return frame;
}
