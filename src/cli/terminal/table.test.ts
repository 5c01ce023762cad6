import { expect, test } from "vitest";
import { type Column, formatTable, Table, tableWidth } from "./table.ts";
import { textWidth } from "./text-width.ts";

type Row = { id: string; command: string; detail: string };
const columns: Column<Row>[] = [
  { title: "ID", cell: (row) => row.id },
  { title: "COMMAND", cell: (row) => row.command, minWidth: 10 },
  { title: "DETAIL", cell: (row) => row.detail, minWidth: 8 },
];
const row = (id: string, command = "true", detail = "exit 0"): Row => ({ id, command, detail });

test("C7: titles come once, and later rows keep the widths of the first", () => {
  const table = new Table(columns);
  expect(table.format([row("a", "echo hello"), row("b")])).toBe(
    "ID  COMMAND     DETAIL\na   echo hello  exit 0\nb   true        exit 0\n",
  );
  expect(table.format([row("c")])).toBe("c   true        exit 0\n");
});

test("C7: on a terminal every line fits, and the widest columns give way first", () => {
  const rows = [row("1e3aafe3", "x".repeat(90), "y".repeat(30)), row("8a0f52c1", "日".repeat(50))];
  const lines = formatTable(columns, rows, 60).trimEnd().split("\n");
  for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(60);
  expect(lines[1]).toMatch(/^1e3aafe3 {2}x+… {2}y+/);
});

test("C7: a column that may not be cut stays whole on a small terminal, and what does not fit is left out", () => {
  const [, line] = formatTable(columns, [row("1e3aafe3", "x".repeat(90), "y".repeat(30))], 20).split("\n");
  expect(line).toBe(`1e3aafe3  ${"x".repeat(9)}…`);
});

test("C7: a column that can be done without goes where the table would not fit", () => {
  const wide: Column<Row>[] = [...columns, { title: "EXTRA", cell: () => "extra", isOptional: true }];
  const rows = [row("1e3aafe3", "x".repeat(20), "y".repeat(20))];
  expect(formatTable(wide, rows, 40)).toContain("EXTRA");
  expect(formatTable(wide, rows, 30)).not.toContain("EXTRA");
});

test("C7: in a pipe every cell is whole, and one long cell does not pad the others", () => {
  const long = "x".repeat(500);
  const [, first, second] = formatTable(columns, [row("a", long), row("b")]).split("\n");
  expect(first).toBe(`a   ${long}  exit 0`);
  expect(second).toBe(`b   ${"true".padEnd(160)}  exit 0`);
});

test("C7: a terminal that does not know its size has 80 columns, and a pipe has no width", () => {
  const sink = (isTTY: boolean, terminalColumns: number) => ({ isTTY, columns: terminalColumns }) as never;
  expect([sink(true, 0), sink(true, 120), sink(false, 120)].map(tableWidth)).toEqual([80, 120, undefined]);
});

test("on a very small terminal no row is wider than it, so that none is wrapped", () => {
  const columns = ["ID", "STATE", "COMMAND"].map((title) => ({ title, cell: () => "abcdefghij" }));
  for (const width of [1, 5, 12, 13, 20, 31]) {
    const lines = formatTable(columns, [{}], width).trimEnd().split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
  }
  expect(formatTable(columns, [{}], 20)).toBe("ID          STATE\nabcdefghij  abcdefg…\n");
});
