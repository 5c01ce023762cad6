import type { OutputStream } from "../../core/jobs/output-stream.ts";

/**
 * The output of a job in a container, as pieces on the standard error of `writ-agent run-job --relay`. A frame is a
 * NUL, the number of the stream, the length as 4 bytes (big-endian) and the piece. Other text, for example of `docker
 * exec`, is between two frames and has no NUL.
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
type FrameSinks = {
  onPiece(stream: OutputStream, piece: Buffer): void;
  /** Receives text that is not a frame. */
  onText(text: Buffer): void;
};

/** Splits frames, at any cut into chunks. Pieces are passed on before their frame is complete. Why: ADR 0045. */
export class FrameReader {
  readonly #sinks: FrameSinks;
  #header = Buffer.alloc(0);
  #stream: OutputStream = "stdout";
  #leftBytes = 0;

  constructor(sinks: FrameSinks) {
    this.#sinks = sinks;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) rest = this.#leftBytes > 0 ? this.#passPiece(rest) : this.#readHeader(rest);
  }

  #passPiece(bytes: Buffer): Buffer {
    const piece = bytes.subarray(0, this.#leftBytes);
    this.#leftBytes -= piece.length;
    this.#sinks.onPiece(this.#stream, piece);
    return bytes.subarray(piece.length);
  }

  #readHeader(bytes: Buffer): Buffer {
    if (this.#header.length === 0 && bytes[0] !== 0) return this.#passText(bytes);
    const missing = headerBytes - this.#header.length;
    this.#header = Buffer.concat([this.#header, bytes.subarray(0, missing)]);
    if (this.#header.length < headerBytes) return bytes.subarray(bytes.length);
    this.#stream = streams[this.#header[1]! - 1] ?? "stderr";
    this.#leftBytes = this.#header.readUInt32BE(2);
    this.#header = Buffer.alloc(0);
    return bytes.subarray(missing);
  }

  #passText(bytes: Buffer): Buffer {
    const end = bytes.indexOf(0);
    const text = end === -1 ? bytes : bytes.subarray(0, end);
    this.#sinks.onText(text);
    return bytes.subarray(text.length);
  }
}
