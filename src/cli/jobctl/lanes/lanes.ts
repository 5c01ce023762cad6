import type { Command } from "commander";
import type { Lane } from "../../../client/index.ts";
import { timeText } from "../../../core/text/time-text.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { printRows } from "../../terminal/print-rows.ts";
import type { Column } from "../../terminal/table.ts";

export function define(command: Command, context: CliContext): void {
  command.action(() =>
    withWrit(context, command, async (writ) => {
      const rows: Lane[] = [];
      for await (const lane of writ.lanes()) rows.push(lane);
      await printRows(context, command, { rows, columns, none: "no job names a lane" });
    }),
  );
}

const columns: Column<Lane>[] = [
  { title: "NAME", cell: ({ name }) => name, minWidth: 12 },
  { title: "TAKEN", cell: ({ active, max_running }) => `${active} of ${max_running ?? "any number"}` },
  { title: "RATE", cell: describeRate },
  { title: "JOBS", cell: ({ unfinished }) => unfinished },
  { title: "OPENS", cell: ({ opens_at }) => (opens_at === null ? "-" : timeText(opens_at)) },
  { title: "HELD BY", cell: ({ holders }) => holders[0]?.job_id.slice(-8) ?? "-", isOptional: true },
  { title: "USER", cell: ({ user_id }) => user_id, isOptional: true },
];

function describeRate({ rate }: Lane): string {
  return rate === null ? "-" : `${rate.limit} in ${rate.period_sec} s`;
}
