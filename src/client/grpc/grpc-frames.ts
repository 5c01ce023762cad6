import { Buffer } from "node:buffer";
import { WritError } from "../../core/errors.ts";
import { prefixBytes } from "../../runtime/http/grpc-message.ts";

// A page of a thousand jobs with long commands is far smaller; anything larger is not a response of a hub.
const messageBytesMax = 256 * 1024 * 1024;

/** Assembles the messages of a gRPC response from the pieces in which they arrive. */
export class Unframer {
  #pieces: Buffer[] = [];
  #held = 0;

  /** The messages that are complete with this piece. Most are inside it and are not copied. */
  push(piece: Buffer): Buffer[] {
    this.#pieces.push(piece);
    this.#held += piece.length;
    const messages: Buffer[] = [];
    for (let message = this.#take(); message !== undefined; message = this.#take()) messages.push(message);
    return messages;
  }

  /** True between two messages, false in the middle of one. */
  get isEmpty(): boolean {
    return this.#held === 0;
  }

  #take(): Buffer | undefined {
    if (this.#held < prefixBytes) return undefined;
    const prefix = this.#first(prefixBytes);
    if (prefix[0] !== 0)
      throw new WritError("HTTP_ERROR", "the hub sent a compressed message, which was not requested");
    const size = prefix.readUInt32BE(1);
    if (size > messageBytesMax)
      throw new WritError("HTTP_ERROR", `the hub announced a message of ${size} bytes`);
    if (this.#held < prefixBytes + size) return undefined;
    const whole = this.#first(prefixBytes + size);
    this.#drop(prefixBytes + size);
    return whole.subarray(prefixBytes);
  }

  /** Joins the pieces only if the bytes that are needed are in more than one. */
  #first(size: number): Buffer {
    if (this.#pieces[0]!.length < size) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0]!.subarray(0, size);
  }

  #drop(size: number): void {
    const [first, ...others] = this.#pieces as [Buffer, ...Buffer[]];
    this.#held -= size;
    this.#pieces = first.length === size ? others : [first.subarray(size), ...others];
  }
}
