import type { TextSink } from "../context.ts";
import { neutraliseLine } from "./terminal.ts";
import { cutText, padText, textWidth } from "./text-width.ts";

export type Column<Row> = {
  title: string;
  cell(row: Row): string | number | null;
  /** Receives the padded text, so that colour codes do not count as width. */
  paint?: (text: string, row: Row) => string;
  /** How narrow the column may become on a small terminal. By default it is never cut. */
  minWidth?: number;
  /** Left out where the table would not fit otherwise; the last of these first. */
  isOptional?: true;
};

const gap = "  ";
/** In a pipe a cell may be longer than this, but the other rows are not padded to its length. */
const paddedWidthMax = 160;
const columnsWhenUnknown = 80;

/** The width that a table has to fit into; undefined for a pipe, where every cell is printed whole. */
export function tableWidth(sink: TextSink): number | undefined {
  return sink.isTTY ? sink.columns || columnsWhenUnknown : undefined;
}

/**
 * A table that is printed piece by piece: the first rows decide how wide its columns are, and the titles come once. Every
 * cell is made safe for the terminal here, so that no caller can forget it.
 */
export class Table<Row> {
  readonly #width: number | undefined;
  #columns: readonly Column<Row>[];
  #widths: readonly number[] | undefined;

  constructor(columns: readonly Column<Row>[], width?: number | undefined) {
    this.#columns = columns;
    this.#width = width;
  }

  format(rows: readonly Row[]): string {
    const titles = this.#widths === undefined ? [this.#decide(rows)] : [];
    const lines = rows.map((row) => this.#line(this.#cells(row), row));
    return [...titles, ...lines].map((line) => `${line.trimEnd()}\n`).join("");
  }

  /** Decides which columns there are and how wide, and gives the line of their titles. */
  #decide(rows: readonly Row[]): string {
    const natural = new Map(this.#columns.map((column) => [column, naturalWidth(column, rows, this.#width)]));
    const widthOf = (column: Column<Row>): number => natural.get(column)!;
    this.#columns = fittingColumns(this.#columns, widthOf, this.#width);
    this.#widths = cutToWidth(fittingWidths(this.#columns, widthOf, this.#width), this.#width);
    this.#columns = this.#columns.slice(0, this.#widths.length);
    return this.#line(this.#columns.map(({ title }) => title));
  }

  #cells(row: Row): string[] {
    return this.#columns.map((column) => cellText(column.cell(row)));
  }

  #line(cells: readonly string[], row?: Row): string {
    const line = cells.map((text, at) => {
      const width = this.#widths![at]!;
      const padded = padText(this.#width === undefined ? text : cutText(text, width), width);
      const { paint } = this.#columns[at]!;
      return row === undefined || paint === undefined ? padded : paint(padded, row);
    });
    return line.join(gap);
  }
}

function naturalWidth<Row>(column: Column<Row>, rows: readonly Row[], width = paddedWidthMax): number {
  const widest = rows.reduce((most, row) => Math.max(most, textWidth(cellText(column.cell(row)))), 0);
  return Math.max(column.title.length, Math.min(width, widest));
}

type WidthOf<Row> = (column: Column<Row>) => number;

/** All of them, or as few less as it takes for the narrowest form to fit. */
function fittingColumns<Row>(
  columns: readonly Column<Row>[],
  widthOf: WidthOf<Row>,
  width = Number.POSITIVE_INFINITY,
): readonly Column<Row>[] {
  const narrowest = columns.map((column) => Math.min(widthOf(column), column.minWidth ?? widthOf(column)));
  const last = columns.findLast(({ isOptional }) => isOptional);
  if (total(narrowest) <= width || last === undefined) return columns;
  return fittingColumns(
    columns.filter((column) => column !== last),
    widthOf,
    width,
  );
}

/** Takes from the widest column that may be narrower until all fit. */
function fittingWidths<Row>(
  columns: readonly Column<Row>[],
  widthOf: WidthOf<Row>,
  width = Number.POSITIVE_INFINITY,
): number[] {
  const widths = columns.map(widthOf);
  for (let excess = total(widths) - width; excess > 0; excess--) {
    const room = widths.map((each, at) => (each > (columns[at]!.minWidth ?? each) ? each : 0));
    const widest = room.indexOf(Math.max(...room));
    if (room[widest] === 0) break;
    widths[widest]!--;
  }
  return widths;
}

/** On a very small terminal the last columns are cut or left out: a row that is wrapped cannot be read at all. */
function cutToWidth(widths: readonly number[], width = Number.POSITIVE_INFINITY): number[] {
  const kept: number[] = [];
  for (const each of widths) {
    const left = kept.length === 0 ? width : width - total(kept) - gap.length;
    if (left < 1) break;
    kept.push(Math.min(each, left));
  }
  return kept;
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));
}

export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width?: number | undefined,
): string {
  return new Table(columns, width).format(rows);
}

/** One name and value per line; empty values are left out. */
export function formatFields(fields: readonly (readonly [string, string | number | null])[]): string {
  const shown = fields.filter(([, value]) => value !== null && value !== "");
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${neutraliseLine(String(value))}\n`).join("");
}

function cellText(value: string | number | null): string {
  return value === null || value === "" ? "-" : neutraliseLine(String(value));
}
