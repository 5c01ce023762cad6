import type { Command } from "commander";
import type { Schedule, Writ } from "../../../client/index.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { listByDefault, parsed } from "../../program.ts";
import { parsePast } from "../../terminal/duration.ts";
import { print } from "../../terminal/print.ts";
import { printRows } from "../../terminal/print-rows.ts";
import type { Column } from "../../terminal/table.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";
import { definePut } from "./put.ts";
import { describeTiming, scheduleText, timeText } from "./schedule-text.ts";

export function define(command: Command, context: CliContext): void {
  defineList(listByDefault(command), context);
  defineShow(command.command("show"), context);
  definePut(command.command("put"), context);
  defineAct(command.command("pause"), context, {
    what: "make no more jobs; what would be due meanwhile is not caught up",
    act: async (writ, name) => sentence(await writ.schedules.pause(name)),
  });
  defineAct(command.command("resume"), context, {
    what: "end a pause",
    act: async (writ, name) => sentence(await writ.schedules.resume(name)),
  });
  defineAct(command.command("run"), context, {
    what: "make a job now, beside those of the clock, and print its id",
    act: (writ, name) => writ.schedules.run(name),
  });
  defineAct(command.command("remove"), context, {
    what: "remove a schedule; its jobs stay",
    act: async (writ, name) => {
      await writ.schedules.remove(name);
      return `${name} is removed`;
    },
  });
  defineBackfill(command.command("backfill"), context);
}

function defineList(command: Command, context: CliContext): void {
  command.description("list the schedules, with their next time").action(() =>
    withWrit(context, command, async ({ schedules }) => {
      const rows: Schedule[] = [];
      for await (const schedule of schedules.list()) rows.push(schedule);
      await printRows(context, command, { rows, columns, none: "no schedules" });
    }),
  );
}

const columns: Column<Schedule>[] = [
  { title: "NAME", cell: ({ name }) => name, minWidth: 12 },
  { title: "WHEN", cell: describeTiming, minWidth: 12 },
  { title: "STATE", cell: ({ state }) => state },
  { title: "NEXT", cell: ({ next }) => (next[0] === undefined ? "-" : timeText(next[0])) },
  { title: "JOBS", cell: ({ runs }) => runs },
  { title: "USER", cell: ({ user_id }) => user_id, isOptional: true },
  { title: "LAST JOB", cell: ({ last }) => last?.job_id.slice(-8) ?? "-", isOptional: true },
];

function defineShow(command: Command, context: CliContext): void {
  command
    .description("show a schedule: its next five times, and what became of the last occurrences")
    .argument("<name>", "the name of the schedule")
    .action((name: string) =>
      withWrit(context, command, async (writ) => {
        print(context, command, await writ.schedules.get(name), scheduleText);
      }),
    );
}

type Act = { what: string; act(writ: Writ, name: string): Promise<string> };

function defineAct(command: Command, context: CliContext, { what, act }: Act): void {
  command
    .description(what)
    .argument("<name>", "the name of the schedule")
    .action((name: string) =>
      withWrit(context, command, async (writ) => {
        const text = await act(writ, name);
        print(context, command, { name, result: text }, () => `${neutraliseLine(text)}\n`);
      }),
    );
}

function sentence({ name, state }: Schedule): string {
  return `${name} is ${state}`;
}

function defineBackfill(command: Command, context: CliContext): void {
  const moment = parsed(
    (text: string) => parsePast(text, Date.now()),
    "a date and time such as 2030-01-31T08:00:00Z, or an age such as 2h or 7d",
  );
  command
    .description("make the jobs of past occurrences that have made none, at most 1,000")
    .argument("<name>", "the name of the schedule")
    .requiredOption("--from <time>", "from this date, or since this age (2h, 7d)", moment)
    .option("--to <time>", "until this date, or this age (default: now)", moment)
    .action((name: string, flags: { from: number; to?: number }) =>
      withWrit(context, command, async (writ) => {
        const range = { from: new Date(flags.from), to: new Date(flags.to ?? Date.now()) };
        const added = await writ.schedules.backfill(name, range);
        print(context, command, { name, added }, () => `${added} occurrences wait for their jobs\n`);
      }),
    );
}
