import { StringDecoder } from "node:string_decoder";

/** Longer lines are left out: an agent prints whole files in one. */
const lineCharsMax = 4 * 1024 * 1024;

/** Splits bytes at line breaks, wherever the pieces end. A line that is too long is dropped, and the next one is read. */
export class AgentLines {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  #isTooLong = false;

  *push(bytes: Buffer): Generator<string> {
    const pieces = this.#decoder.write(bytes).split("\n");
    for (const [index, piece] of pieces.entries()) {
      if (!this.#isTooLong) this.#rest += piece;
      if (this.#rest.length > lineCharsMax) {
        this.#isTooLong = true;
        this.#rest = "";
      }
      if (index === pieces.length - 1) return;
      const line = this.#rest;
      const isWhole = !this.#isTooLong;
      this.#rest = "";
      this.#isTooLong = false;
      if (isWhole && line !== "") yield line;
    }
  }

  /** What follows the last line break. */
  get rest(): string {
    return this.#rest;
  }
}
