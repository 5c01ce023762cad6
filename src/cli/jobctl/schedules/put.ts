import { type Command, Option } from "commander";
import type { ScheduleInput } from "../../../client/index.ts";
import { catchUps, overlaps } from "../../../core/schedules/schedule.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { parsed, wholeNumber } from "../../program.ts";
import { parseDuration } from "../../terminal/duration.ts";
import { print } from "../../terminal/print.ts";
import { readOrder } from "../submit/read-order.ts";
import { scheduleText } from "./schedule-text.ts";

type PutFlags = {
  file?: string;
  type?: string;
  cron?: string;
  every?: number;
  timeZone?: string;
  overlap?: ScheduleInput["overlap"];
  catchUp?: ScheduleInput["catch_up"];
  jitter?: number;
  maxRuns?: number;
};

/** `jobctl schedules put NAME --cron "30 2 * * *" -- COMMAND`, or all fields by a file. */
export function definePut(command: Command, context: CliContext): void {
  const duration = parsed(parseDuration, "a time such as 30s, 10m or 1h");
  command
    .description("create or change a schedule; the same again changes nothing, and a new timing begins now")
    .argument("<name>", "the name of the schedule")
    .argument("[command...]", "the command that each job runs, after --")
    .option(
      "--file <file>",
      "a schedule with any field of PUT /schedules/NAME, as YAML or JSON, or - for standard input",
    )
    .option("--type <type>", "the type of the jobs (default: exec)")
    .option(
      "--cron <fields>",
      "minute, hour, day of month, month and weekday; with six fields, seconds first",
    )
    .option("--every <time>", "instead of --cron: an interval, such as 15m", duration)
    .option("--time-zone <name>", "an IANA name, such as Europe/Berlin (default: UTC)")
    .addOption(new Option("--overlap <what>", "while the last job runs (default: skip)").choices(overlaps))
    .addOption(new Option("--catch-up <what>", "after an outage (default: latest)").choices(catchUps))
    .option("--jitter <time>", "due later by a share of this, always the same", duration)
    .option("--max-runs <n>", "end after this many jobs", wholeNumber(1, 1_000_000_000))
    .action((name: string, before: string[], flags: PutFlags) =>
      withWrit(context, command, async (writ) => {
        const schedule = await describe(context, [...before, ...(context.words ?? [])], flags);
        print(context, command, await writ.schedules.put(name, schedule), scheduleText);
      }),
    );
}

async function describe(context: CliContext, words: string[], flags: PutFlags): Promise<ScheduleInput> {
  const order = await readOrder(context, "schedule", { words, flags });
  const given = {
    cron: flags.cron,
    every_sec: secondsOf(flags.every),
    time_zone: flags.timeZone,
    overlap: flags.overlap,
    catch_up: flags.catchUp,
    jitter_sec: secondsOf(flags.jitter),
    max_runs: flags.maxRuns,
  };
  const known = Object.entries(given).filter(([, value]) => value !== undefined);
  // What the file holds is checked by the hub, which names the field.
  return { ...order, ...Object.fromEntries(known) } as ScheduleInput;
}

function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}
