import type { Writable } from "node:stream";

/** Frames that are larger together are not copied into one piece. */
const copiedBytesMax = 128 * 1024;

/**
 * Writes the frames of one turn of the event loop together: a system call and a packet for all of them. It happens after
 * the promises that the turn has resolved, because those are what answers come from. Why: ADR 0126.
 */
export class FrameWriter {
  readonly #target: Writable;
  #frames: Buffer[] = [];
  #bytes = 0;

  constructor(target: Writable) {
    this.#target = target;
  }

  write(frame: Buffer): void {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    if (this.#frames.length === 1) process.nextTick(() => this.flush());
  }

  flush(): void {
    const frames = this.#frames;
    const bytes = this.#bytes;
    if (frames.length === 0) return;
    this.#frames = [];
    this.#bytes = 0;
    if (this.#target.destroyed || this.#target.writableEnded) return;
    if (frames.length === 1) this.#target.write(frames[0]);
    else if (bytes <= copiedBytesMax) this.#target.write(Buffer.concat(frames, bytes));
    else this.#writeEach(frames);
  }

  #writeEach(frames: readonly Buffer[]): void {
    this.#target.cork();
    for (const frame of frames) this.#target.write(frame);
    this.#target.uncork();
  }
}
