import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { wantsJson, writeSlowly } from "./print.ts";
import { type Column, formatTable, tableWidth } from "./table.ts";
import { safeJson } from "./terminal.ts";

type Printed<Row> = {
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  /** What a person reads instead of an empty table. */
  none: string;
};

/** Prints rows as a table, or with --json as one object per line. */
export async function printRows<Row>(
  context: CliContext,
  command: Command,
  { rows, columns, none }: Printed<Row>,
): Promise<void> {
  const isJson = wantsJson(command);
  if (rows.length === 0 && !isJson && context.stdout.isTTY) return void context.stderr.write(`${none}\n`);
  const text = isJson
    ? rows.map((row) => `${safeJson(row)}\n`).join("")
    : formatTable(columns, rows, tableWidth(context.stdout));
  await writeSlowly(context, text, context.stops.requested);
}
