import type { Command } from "commander";
import { withWrit } from "../connection/connection.ts";
import type { CliContext } from "../context.ts";
import { printRows } from "../terminal/print-rows.ts";
import { workerColumns } from "../terminal/worker-columns.ts";

export function define(command: Command, context: CliContext): void {
  command.action(() =>
    withWrit(context, command, async (writ) => {
      const columns = workerColumns(Date.now());
      await printRows(context, command, { rows: await writ.workers(), columns, none: "no workers" });
    }),
  );
}
