import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder that all paths in the pages start from. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

export function readText(path: string): string {
  return readFileSync(`${root}/${path}`, "utf8");
}

/** What stands in a page between `<!-- begin NAME -->` and `<!-- end NAME -->`. */
export function readBlock(path: string, name: string): string {
  const page = readText(path);
  const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${path} has no block between "${begin}" and "${end}"`);
  return page.slice(from + begin.length, to).trim();
}

/** The cells of a table's rows, without its head. How the table is padded does not matter. */
export function readTable(text: string): string[][] {
  const rows = text.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** What to say when a page and the code disagree: the whole table, ready to be put into the page. */
export function advice(path: string, lines: readonly string[]): string {
  return `${path} does not say what the code says. It should say:\n\n${lines.join("\n")}\n`;
}

export function tableLines(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}
