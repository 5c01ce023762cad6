const firstBytes = 4_096;

/** Appends to a buffer that grows. Numbers are varints: seven bits a byte, the lowest first. Why: ADR 0105. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(firstBytes);
  length = 0;

  /** A whole number from 0 to 2^53 - 1. */
  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.length++] = rest;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.length++] = value;
  }

  /** A time in ms since the epoch, or any other whole number below 2^48. */
  time(value: number): void {
    this.#reserve(6);
    this.#bytes.writeUIntBE(value, this.length, 6);
    this.length += 6;
  }

  hex(text: string): void {
    this.#reserve(text.length >> 1);
    this.length += this.#bytes.write(text, this.length, "hex");
  }

  /** Without its length. */
  text(text: string): void {
    this.#reserve(3 * text.length);
    this.length += this.#bytes.write(text, this.length);
  }

  /** With its length before it. */
  sizedText(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.varint(bytes);
    this.text(text);
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** The bytes from here on; only until something is written. */
  since(start: number): Buffer {
    return this.#bytes.subarray(start, this.length);
  }

  /** Takes what was written, and begins anew. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.length);
    this.#bytes = Buffer.allocUnsafe(firstBytes);
    this.length = 0;
    return taken;
  }

  #reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, needed));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }
}
