import { createHash } from "node:crypto";
import { readRange } from "../output/folder/read-range.ts";

/**
 * The SHA-256 of what the hub has of one stream, made while it is being sent. When the hub counted otherwise in
 * between, because an answer was lost or because it forgot something, the file is read once more at the end.
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

  /** How much the hub has answered for. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** The hub has taken these bytes at this place. */
  keep(offset: number, bytes: Uint8Array): void {
    this.#keptBytes = offset + bytes.length;
    if (offset !== this.#hashedBytes) this.#isWhole = false;
    if (!this.#isWhole) return;
    this.#hash.update(bytes);
    this.#hashedBytes = this.#keptBytes;
  }

  /** The hub says that it has so much. */
  jump(size: number): void {
    this.#keptBytes = size;
  }

  /** At the end; once more when the hub has lost something after it. */
  async digest(): Promise<string> {
    if (this.#isWhole && this.#hashedBytes === this.#keptBytes) return this.#hash.copy().digest("hex");
    const again = createHash("sha256");
    for await (const chunk of readRange(this.#path, 0, this.#keptBytes)) again.update(chunk);
    return again.digest("hex");
  }
}
