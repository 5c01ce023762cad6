import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { withJobs } from "../with-jobs.ts";
import { readStdin } from "./read-stdin.ts";
import { addStartOptions, type StartFlags, startInput } from "./start-options.ts";

export function define(command: Command, context: CliContext): void {
  addStartOptions(command);
  command.action(async (flags: StartFlags) => {
    const input = startInput(context, flags);
    const stdin = await readStdin(context, flags);
    return withJobs(context, command, async (jobs) => {
      const started = { job_id: await jobs.start({ ...input, stdin }, { signal: context.stops.requested }) };
      print(context, command, started, ({ job_id }) => `${job_id}\n`);
    });
  });
}
