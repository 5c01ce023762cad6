/** Reads what `ByteWriter` writes. Throws a RangeError beyond the end: the bytes are then not what was written. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  varint(): number {
    let value = 0;
    for (let weight = 1; weight < 2 ** 53; weight *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * weight;
      // Written only as short as it can be, so that no other bytes mean the same.
      if (byte === 0 && weight > 1) break;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a number is longer than it has to be");
  }

  byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new RangeError("the bytes end too early");
    return byte;
  }

  time(): number {
    return this.#take(6).readUIntBE(0, 6);
  }

  hex(bytes: number): string {
    return this.#take(bytes).toString("hex");
  }

  sizedText(): string {
    return this.#take(this.varint()).toString("utf8");
  }

  /** Everything that is left, as text. */
  rest(): string {
    return this.#take(this.#bytes.length - this.#at).toString("utf8");
  }

  #take(bytes: number): Buffer {
    const end = this.#at + bytes;
    if (end > this.#bytes.length) throw new RangeError("the bytes end too early");
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}
