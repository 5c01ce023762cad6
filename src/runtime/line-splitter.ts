import { WritError } from "../core/errors.ts";

// What servers send us is far below this; the bound keeps a broken one from filling the memory.
const lineCharsMax = 1024 * 1024;

/** Splits text at \n, \r\n and \r, wherever the chunks end. */
export class LineSplitter {
  #rest = "";
  #endedWithCr = false;

  *push(text: string): Generator<string> {
    let start = this.#endedWithCr && text.startsWith("\n") ? 1 : 0;
    if (text !== "") this.#endedWithCr = false;
    for (let end = findLineEnd(text, start); end !== -1; end = findLineEnd(text, start)) {
      const line = this.#rest + text.slice(start, end);
      this.#rest = "";
      refuseLongLine(line.length);
      yield line;
      // A \r ends the line at once; waiting for a possible \n would delay the event.
      this.#endedWithCr = text[end] === "\r" && end + 1 === text.length;
      start = end + (text[end] === "\r" && text[end + 1] === "\n" ? 2 : 1);
    }
    this.#rest += text.slice(start);
    refuseLongLine(this.#rest.length);
  }

  /** What follows the last line break. */
  get rest(): string {
    return this.#rest;
  }
}

const lineEnd = /[\r\n]/g;

function findLineEnd(text: string, from: number): number {
  lineEnd.lastIndex = from;
  return lineEnd.exec(text)?.index ?? -1;
}

function refuseLongLine(length: number): void {
  if (length <= lineCharsMax) return;
  throw new WritError("HTTP_ERROR", `a line is longer than ${lineCharsMax} characters`);
}
