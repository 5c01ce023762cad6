import { type FrameKind, frameHeadBytes, frameKinds, lengthBytes } from "./frame.ts";
import { WireProblem } from "./wire-problem.ts";

export type Frame = {
  kind: FrameKind;
  id: number;
  /** Part of what has arrived: it is not copied. */
  payload: Buffer;
  /** Of the whole frame. */
  bytes: number;
};

const kindMax = Math.max(...Object.values(frameKinds));

/** Reads frames from pieces of any size. What is too long is refused before it is kept. Why: ADR 0126. */
export class FrameReader {
  readonly #frameBytesMax: number;
  readonly #onFrame: (frame: Frame) => void;
  /** The frame whose end has not arrived, or only its beginning, if that is too short to tell its length. */
  #unfinished: Buffer | null = null;
  #filledBytes = 0;

  /** The reader continues with the next frame when `onFrame` has returned; what it throws ends the reading. */
  constructor(frameBytesMax: number, onFrame: (frame: Frame) => void) {
    this.#frameBytesMax = frameBytesMax;
    this.#onFrame = onFrame;
  }

  /** How much of an unfinished frame has arrived. */
  get unfinishedBytes(): number {
    return this.#filledBytes;
  }

  /** Throws a WireProblem. */
  push(piece: Buffer): void {
    let offset = this.#unfinished === null ? 0 : this.#fill(this.#unfinished, piece);
    for (;;) {
      const left = piece.length - offset;
      if (left === 0 || this.#unfinished !== null) return;
      const length = left < frameHeadBytes ? frameHeadBytes : this.#lengthAt(piece, offset);
      if (left < length) {
        offset += this.#begin(length, piece.subarray(offset));
        continue;
      }
      this.#onFrame(frameIn(piece.subarray(offset, offset + length)));
      offset += length;
    }
  }

  /** Room for all of it at once: in small pieces it would take many times its size. */
  #begin(length: number, piece: Buffer): number {
    this.#unfinished = Buffer.allocUnsafe(length);
    this.#filledBytes = 0;
    return this.#fill(this.#unfinished, piece);
  }

  /** Returns how much of the piece belongs to the unfinished frame. */
  #fill(frame: Buffer, piece: Buffer): number {
    const taken = piece.copy(frame, this.#filledBytes);
    this.#filledBytes += taken;
    if (this.#filledBytes < frame.length) return taken;
    this.#unfinished = null;
    this.#filledBytes = 0;
    const length = this.#lengthAt(frame, 0);
    if (length === frame.length) {
      this.#onFrame(frameIn(frame));
      return taken;
    }
    // Only now is its length known.
    this.#begin(length, frame);
    return taken + this.#fill(this.#unfinished!, piece.subarray(taken));
  }

  #lengthAt(bytes: Buffer, offset: number): number {
    const length = lengthBytes + bytes.readUInt32BE(offset);
    if (length > this.#frameBytesMax) {
      const problem = `a frame of ${length} bytes; at most ${this.#frameBytesMax} are allowed`;
      throw new WireProblem("frame-too-long", problem);
    }
    if (length < frameHeadBytes)
      throw new WireProblem("bad-frame", `a frame of ${length} bytes has no room for its kind and number`);
    return length;
  }
}

function frameIn(bytes: Buffer): Frame {
  const kind = bytes[lengthBytes]!;
  if (kind === 0 || kind > kindMax) throw new WireProblem("bad-frame", `a frame of the unknown kind ${kind}`);
  const id = bytes.readUInt32BE(lengthBytes + 1);
  return { kind: kind as FrameKind, id, payload: bytes.subarray(frameHeadBytes), bytes: bytes.length };
}
