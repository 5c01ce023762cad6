import { tryParseJson } from "../../../core/text/json-value.ts";

/** Longer lines are shown: they are kept in memory until their end. */
const lineCharsMax = 4 * 1024 * 1024;

/**
 * Leaves out the lines by which a coding agent tells programs what it does: objects in JSON with a `type`. Other text passes at
 * once, in whatever pieces it comes.
 */
export class TaleFilter {
  /** The beginning of a line that may be such an object. */
  #held = "";
  /** Whether the beginning of the present line has been shown. */
  #isShown = false;

  push(text: string): string {
    const pieces = text.match(/[^\n]*\n|[^\n]+/g) ?? [];
    return pieces.map((piece) => this.#take(piece)).join("");
  }

  end(): string {
    const rest = isTale(this.#held) ? "" : this.#held;
    this.#held = "";
    return rest;
  }

  #take(piece: string): string {
    const line = this.#held + piece;
    const mayBeTale = !this.#isShown && line.startsWith("{") && line.length <= lineCharsMax;
    const isWhole = line.endsWith("\n");
    this.#held = mayBeTale && !isWhole ? line : "";
    if (mayBeTale && (!isWhole || isTale(line))) return "";
    this.#isShown = !isWhole;
    return line;
  }
}

function isTale(line: string): boolean {
  const value = tryParseJson(line) as { type?: unknown } | null | undefined;
  return typeof value === "object" && value !== null && typeof value.type === "string";
}
