import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { startJob } from "./start-job.ts";
import { addStartOptions, type StartFlags } from "./start-options.ts";

export function define(command: Command, context: CliContext): void {
  addStartOptions(command);
  command.action((flags: StartFlags) =>
    startJob({ context, command, flags, signal: context.stops.requested }, async ({ jobId }) =>
      print(context, command, { job_id: jobId }, ({ job_id }) => `${job_id}\n`),
    ),
  );
}
