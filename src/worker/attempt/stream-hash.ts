import { createHash } from "node:crypto";
import { readRange } from "../../output/folder/read-range.ts";

/**
 * The SHA-256 of the hub's part of one stream, computed while it is sent. If the hub's count differed in between,
 * because a response or bytes were lost, the file is read once more at the end.
 */
export class StreamHash {
  readonly #path: string;
  readonly #hash = createHash("sha256");
  #hashedBytes = 0;
  #keptBytes = 0;
  #isWhole = true;

  constructor(path: string) {
    this.#path = path;
  }

  /** How much the hub has confirmed. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** The hub has accepted these bytes at this offset. */
  keep(offset: number, bytes: Uint8Array): void {
    this.#keptBytes = offset + bytes.length;
    if (offset !== this.#hashedBytes) this.#isWhole = false;
    if (!this.#isWhole) return;
    this.#hash.update(bytes);
    this.#hashedBytes = this.#keptBytes;
  }

  /** Sets the size that the hub reports. */
  jump(size: number): void {
    this.#keptBytes = size;
  }

  /** Called at the end, and again if the hub has lost bytes after that. */
  async digest(): Promise<string> {
    if (this.#isWhole && this.#hashedBytes === this.#keptBytes) return this.#hash.copy().digest("hex");
    const again = createHash("sha256");
    for await (const chunk of readRange(this.#path, 0, this.#keptBytes)) again.update(chunk);
    return again.digest("hex");
  }
}
