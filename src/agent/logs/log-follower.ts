import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { LineBuffer } from "./line-buffer.ts";

const pieceBytes = 64 * 1024;

/** Shows what is added to a log, by whole lines, also when the log is rotated. */
export class LogFollower {
  readonly #path: string;
  readonly #lines: LineBuffer;
  readonly #buffer = Buffer.alloc(pieceBytes);
  #fd: number | undefined;
  #position = 0;

  constructor(path: string, { fromStart, show }: { fromStart: boolean; show(lines: Buffer): void }) {
    this.#path = path;
    this.#lines = new LineBuffer((lines) => show(Buffer.from(lines)));
    this.#open();
    if (!fromStart && this.#fd !== undefined) this.#position = fstatSync(this.#fd).size;
  }

  /** Shows what was added since the last call. */
  read(): void {
    // The file that was set aside is read to its end first.
    const isRotated = this.#fd !== undefined && !this.#isCurrent(this.#fd);
    this.#readToEnd();
    if (!isRotated && this.#fd !== undefined) return;
    this.#close();
    this.#open();
    this.#readToEnd();
  }

  #readToEnd(): void {
    if (this.#fd === undefined) return;
    while (true) {
      const bytes = readSync(this.#fd, this.#buffer, 0, pieceBytes, this.#position);
      if (bytes === 0) return;
      this.#position += bytes;
      this.#lines.push(Buffer.from(this.#buffer.subarray(0, bytes)));
    }
  }

  #isCurrent(fd: number): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino;
  }

  #open(): void {
    try {
      this.#fd = openSync(this.#path, "r");
      this.#position = 0;
    } catch {
      // It does not exist yet; the next look tries again.
      this.#fd = undefined;
    }
  }

  #close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
