import { neutraliseLine } from "./terminal.ts";

export type Column<Row> = {
  title: string;
  cell(row: Row): string | number | null;
  /** Receives the padded text, so that colour codes do not count as width. */
  paint?: (text: string, row: Row) => string;
};

// `status` and `--json` show the whole value.
const cellCharsMax = 60;

/** A table with titles. Every cell is made safe for the terminal here, so that no caller can forget it. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map((column) => cellText(column.cell(row))));
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...cells.map((line) => line[at]!.length)),
  );
  const head = columns.map(({ title }, at) => title.padEnd(widths[at]!)).join("  ");
  const lines = cells.map((line, index) =>
    columns
      .map(({ paint }, at) => {
        const padded = line[at]!.padEnd(widths[at]!);
        return paint === undefined ? padded : paint(padded, rows[index]!);
      })
      .join("  "),
  );
  return [head, ...lines].map((line) => `${line.trimEnd()}\n`).join("");
}

/** One name and value per line; empty values are left out. */
export function formatFields(fields: readonly (readonly [string, string | number | null])[]): string {
  const shown = fields.filter(([, value]) => value !== null && value !== "");
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${neutraliseLine(String(value))}\n`).join("");
}

function cellText(value: string | number | null): string {
  const text = value === null || value === "" ? "-" : neutraliseLine(String(value));
  return text.length > cellCharsMax ? `${text.slice(0, cellCharsMax - 1)}…` : text;
}
