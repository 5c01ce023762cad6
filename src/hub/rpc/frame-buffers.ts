/** A piece of 256 KiB with the heads of its messages fits into one of these. */
const bufferBytes = 260 * 1024;
/** As many as a few dozen busy streams need; what comes back beyond that is left to the collector. */
const keptMax = 64;

/**
 * Buffers that are used again. Each large one is memory straight from the system, and at hundreds of megabytes a
 * second the collector would be far behind in giving it back.
 */
export class FrameBuffers {
  readonly #kept: Buffer[] = [];

  take(bytes: number): Buffer {
    if (bytes > bufferBytes || bytes <= Buffer.poolSize / 2) return Buffer.allocUnsafe(bytes);
    return this.#kept.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
  }

  /** Only when nothing will read from it any more. */
  give(buffer: Buffer): void {
    if (buffer.length === bufferBytes && this.#kept.length < keptMax) this.#kept.push(buffer);
  }
}
