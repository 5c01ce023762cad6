import { type Line, spansOf } from "./output-buffer.ts";
import type { Span } from "./read-ansi.ts";

/** Rows on the screen: a line takes one, or several when it is wrapped after so many columns. */
export class LineLayout {
  /** The first row of each line, and at the end the number of all rows. */
  readonly #firstRows: Uint32Array;
  readonly #lines: readonly Line[];
  readonly #columns: number;

  constructor(lines: readonly Line[], columns: number) {
    this.#lines = lines;
    this.#columns = columns;
    this.#firstRows = new Uint32Array(lines.length + 1);
    let row = 0;
    for (let index = 0; index < lines.length; index++) {
      this.#firstRows[index] = row;
      row += Math.max(1, Math.ceil(lines[index]!.columns / columns));
    }
    this.#firstRows[lines.length] = row;
  }

  get rowCount(): number {
    return this.#firstRows[this.#lines.length]!;
  }

  rowOf(line: number): number {
    return this.#firstRows[line] ?? this.rowCount;
  }

  /** The line of this row, and the row's index within the line. */
  at(row: number): { line: number; part: number } {
    let low = 0;
    let high = this.#lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#firstRows[middle]! <= row) low = middle;
      else high = middle - 1;
    }
    return { line: low, part: row - (this.#firstRows[low] ?? 0) };
  }

  /** The text of this row. */
  spans(line: number, part: number): Span[] {
    const all = spansOf(this.#lines[line]!);
    if (!Number.isFinite(this.#columns)) return [...all];
    const from = part * this.#columns;
    const to = from + this.#columns;
    const spans: Span[] = [];
    let at = 0;
    for (const span of all) {
      const width = span.text.length + (span.isControl ? 2 : 0);
      if (span.isControl) {
        if (at >= from && at < to) spans.push(span);
      } else {
        const text = span.text.slice(Math.max(0, from - at), Math.max(0, to - at));
        if (text !== "") spans.push({ ...span, text });
      }
      at += width;
      if (at >= to) break;
    }
    return spans;
  }
}

export function textOf(line: Line): string {
  return spansOf(line)
    .map(({ text, isControl }) => (isControl ? "" : text))
    .join("");
}
