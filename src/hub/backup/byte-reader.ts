/**
 * Reads bytes from a stream in pieces of a chosen size. Holds at most one piece of the stream more than was requested.
 */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** This many bytes, or fewer if the stream ends before. */
  async take(count: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let missing = count;
    while (missing > 0 && !(await this.isAtEnd())) {
      const piece = this.#held.subarray(0, missing);
      this.#held = this.#held.subarray(piece.length);
      missing -= piece.length;
      pieces.push(piece);
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** At most this many bytes, as they arrive; an empty piece at the end. */
  async takeSome(most: number): Promise<Uint8Array> {
    if (await this.isAtEnd()) return new Uint8Array();
    return this.take(Math.min(most, this.#held.length));
  }

  /** Up to and including the next line feed, or `bytesMax` bytes without one. */
  async takeLine(bytesMax: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (let left = bytesMax; left > 0 && !(await this.isAtEnd()); ) {
      const end = this.#held.subarray(0, left).indexOf(0x0a);
      const piece = await this.take(end === -1 ? Math.min(left, this.#held.length) : end + 1);
      pieces.push(piece);
      left -= piece.length;
      if (end !== -1) break;
    }
    return Buffer.concat(pieces);
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#held.length === 0) {
      const next = await this.#source.next();
      if (next.done) return true;
      this.#held = next.value;
    }
    return false;
  }
}
