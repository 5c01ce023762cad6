import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { jobIdHelp, resolveJobId } from "../short-id.ts";
import { withJobs } from "../with-jobs.ts";

export function define(command: Command, context: CliContext): void {
  command.argument("<id>", jobIdHelp).action((id: string) =>
    withJobs(context, command, async (jobs) => {
      const job = await jobs.stop(await resolveJobId(jobs, id), { signal: context.stops.requested });
      print(context, command, job, ({ job_id, state }) => `${job_id} is ${state}\n`);
    }),
  );
}
