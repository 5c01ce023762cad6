import type { Command } from "commander";
import type { Queue } from "../../client/index.ts";
import { withWrit } from "../connection/connection.ts";
import type { CliContext } from "../context.ts";
import { listByDefault } from "../program.ts";
import { print } from "../terminal/print.ts";
import { printRows } from "../terminal/print-rows.ts";
import type { Column } from "../terminal/table.ts";
import { neutraliseLine } from "../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  defineList(listByDefault(command), context);
  defineSwitch(command.command("pause"), context, true);
  defineSwitch(command.command("resume"), context, false);
}

function defineList(command: Command, context: CliContext): void {
  command.description("list the queues: waiting and running jobs by tenant and type").action(() =>
    withWrit(context, command, async ({ fleet }) => {
      await printRows(context, command, { rows: await fleet.queues(), columns, none: "no queues" });
    }),
  );
}

function defineSwitch(command: Command, context: CliContext, paused: boolean): void {
  const what = paused
    ? "start no more jobs of a type, for all tenants; running jobs continue"
    : "start jobs of a paused type again";
  command
    .description(what)
    .argument("<type>", "the type of the jobs, as `writ queues list` shows it")
    .action((type: string) =>
      withWrit(context, command, async ({ fleet }) => {
        await fleet.setQueuePaused(type, paused);
        const text = `${neutraliseLine(type)} is ${paused ? "paused" : "running again"}\n`;
        print(context, command, { type, paused }, () => text);
      }),
    );
}

const columns: Column<Queue>[] = [
  { title: "TYPE", cell: (queue) => queue.type, minWidth: 16 },
  { title: "TENANT", cell: (queue) => queue.tenant_id },
  { title: "WAITING", cell: ({ pending, scheduled = 0 }) => pending - scheduled },
  { title: "SCHEDULED", cell: ({ scheduled = 0 }) => scheduled },
  { title: "RUNNING", cell: (queue) => queue.active },
  { title: "STATE", cell: (queue) => (queue.paused ? "paused" : "open") },
];
