/** A piece of 256 KiB with its message headers fits into one of these. */
const bufferBytes = 260 * 1024;
/** Enough for a few dozen busy streams; further returned buffers are left to the garbage collector. */
const keptMax = 64;

/**
 * Reused buffers. Each large one is allocated directly from the system, and at hundreds of megabytes a second the
 * garbage collector would be far behind in freeing them.
 */
export class FrameBuffers {
  readonly #kept: Buffer[] = [];

  take(bytes: number): Buffer {
    if (bytes > bufferBytes || bytes <= Buffer.poolSize / 2) return Buffer.allocUnsafe(bytes);
    return this.#kept.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
  }

  /** Returns a buffer that nothing reads any more. */
  give(buffer: Buffer): void {
    if (buffer.length === bufferBytes && this.#kept.length < keptMax) this.#kept.push(buffer);
  }
}
