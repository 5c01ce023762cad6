/** A line without an end is passed on in pieces of this size. */
const lineBytesMax = 64 * 1024;
const lineBreak = 0x0a;

/** Passes on whole lines, several at once where they arrive so. */
export class LineBuffer {
  readonly #pass: (lines: Buffer) => void;
  #held: Buffer = Buffer.alloc(0);

  constructor(pass: (lines: Buffer) => void) {
    this.#pass = pass;
  }

  push(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const end = bytes.lastIndexOf(lineBreak) + 1;
    if (end > 0) this.#pass(bytes.subarray(0, end));
    this.#held = bytes.subarray(end);
    if (this.#held.length >= lineBytesMax) this.end();
  }

  /** No more bytes arrive, or not soon. */
  end(): void {
    if (this.#held.length > 0) this.#pass(Buffer.concat([this.#held, Buffer.of(lineBreak)]));
    this.#held = Buffer.alloc(0);
  }
}
