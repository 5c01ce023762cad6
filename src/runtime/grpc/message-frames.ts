import { Buffer } from "node:buffer";

// The frames of gRPC, for both sides. Why: ADR 0115.

/** Flag and length in front of every message. */
export const prefixBytes = 5;

/** One message of gRPC with its prefix, not compressed. */
export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(prefixBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, prefixBytes);
  return framed;
}

type FrameLimits = {
  bytesMax: number;
  /** Makes the error for a message that is compressed, or too large. */
  refuse(problem: "compressed" | "too large"): Error;
};

/** Assembles messages from the parts in which they arrive. */
export class MessageReader {
  readonly #limits: FrameLimits;
  #parts: Buffer[] = [];
  #size = 0;
  /** With this many bytes there is something new to see: a prefix, or the end of a message. */
  #wanted = prefixBytes;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** True between two messages, false in the middle of one. */
  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** The messages that are complete with this part. Most are inside it and are not copied. */
  *add(part: Buffer): Generator<Buffer> {
    this.#parts.push(part);
    this.#size += part.length;
    while (this.#size >= this.#wanted) {
      const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
      const endsAt = this.#endOf(bytes);
      this.#keep(bytes, endsAt);
      if (bytes.length < endsAt) return;
      this.#keep(bytes.subarray(endsAt), prefixBytes);
      yield bytes.subarray(prefixBytes, endsAt);
    }
  }

  #endOf(bytes: Buffer): number {
    if (bytes[0] !== 0) throw this.#limits.refuse("compressed");
    const size = bytes.readUInt32BE(1);
    if (size > this.#limits.bytesMax) throw this.#limits.refuse("too large");
    return prefixBytes + size;
  }

  #keep(bytes: Buffer, wanted: number): void {
    this.#parts = bytes.length === 0 ? [] : [bytes];
    this.#size = bytes.length;
    this.#wanted = wanted;
  }
}
