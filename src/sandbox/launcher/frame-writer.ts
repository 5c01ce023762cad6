import { protocol } from "./launcher-protocol.ts";

const bytesFirst = 4096;

/** A plan that must not be sent: the launcher would take it for a broken frame and end every job. */
export class PlanRefused extends Error {
  /** E2BIG or EINVAL, as from execve. */
  readonly code: "E2BIG" | "EINVAL";

  constructor(code: "E2BIG" | "EINVAL", message: string) {
    super(message);
    this.name = "PlanRefused";
    this.code = code;
  }
}

/** Writes one frame into one buffer: each start of a job writes about fifty fields. */
export class FrameWriter {
  #bytes = Buffer.allocUnsafe(bytesFirst);
  #used = 0;
  #fieldStart = 0;

  constructor(type: number, id: number) {
    this.u32(0).u8(type).u32(id);
  }

  u8(value: number): this {
    this.#reserve(1);
    this.#used = this.#bytes.writeUInt8(value, this.#used);
    return this;
  }

  u32(value: number): this {
    this.#reserve(4);
    this.#used = this.#bytes.writeUInt32LE(value, this.#used);
    return this;
  }

  u64(value: number): this {
    return this.u32(value % 2 ** 32).u32(Math.floor(value / 2 ** 32));
  }

  /** Any bytes: the content of a file may contain a zero. */
  content(value: string): this {
    this.#reserve(Buffer.byteLength(value));
    this.#used += this.#bytes.write(value, this.#used);
    return this;
  }

  bytes(value: Uint8Array): this {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#used);
    this.#used += value.length;
    return this;
  }

  text(value: string): this {
    if (value.includes("\0"))
      throw new PlanRefused("EINVAL", "an argument, variable or path contains a zero byte");
    return this.content(value);
  }

  /** Everything that is written until `endField` is the field's value. */
  startField(tag: number): this {
    this.u8(tag).u32(0);
    this.#fieldStart = this.#used;
    return this;
  }

  endField(): this {
    this.#bytes.writeUInt32LE(this.#used - this.#fieldStart, this.#fieldStart - 4);
    return this;
  }

  textField(tag: number, value: string): this {
    return this.startField(tag).text(value).endField();
  }

  u32Field(tag: number, value: number): this {
    return this.startField(tag).u32(value).endField();
  }

  u64Field(tag: number, value: number): this {
    return this.startField(tag).u64(value).endField();
  }

  /** The whole frame. Throws PlanRefused if it is longer than the protocol allows. */
  finish(): Buffer {
    const length = this.#used - 4;
    if (length > protocol.FRAME_BYTES_MAX) throw tooLarge();
    this.#bytes.writeUInt32LE(length, 0);
    return this.#bytes.subarray(0, this.#used);
  }

  #reserve(more: number): void {
    const needed = this.#used + more;
    if (needed <= this.#bytes.length) return;
    if (needed > 2 * protocol.FRAME_BYTES_MAX) throw tooLarge();
    const larger = Buffer.allocUnsafe(2 * needed);
    this.#bytes.copy(larger, 0, 0, this.#used);
    this.#bytes = larger;
  }
}

function tooLarge(): PlanRefused {
  return new PlanRefused("E2BIG", "the command and its environment are too large");
}
