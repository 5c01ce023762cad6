import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { withJobs } from "../with-jobs.ts";
import { followJob } from "./follow-job.ts";
import { addStartOptions, type StartFlags, startInput } from "./start-options.ts";

export function define(command: Command, context: CliContext): void {
  addStartOptions(command);
  command
    .option("--detach", "print the id and leave it running; `jobctl attach ID` takes it up again")
    .option("--raw", "write its output to a terminal as it is, with all that it can do there")
    .addHelpText(
      "after",
      "\nIt ends with the command's exit code; 128 + n for signal n, 126 and 127 when the command could not be\nexecuted or found, 124 after --timeout, 125 for every failure of Writ, 130 for Ctrl-C, which stops the job.",
    )
    .action((flags: StartFlags & { detach?: boolean; raw?: boolean }) => {
      const { detach = false, raw = false, ...startFlags } = flags;
      const input = startInput(context, startFlags);
      return withJobs(context, command, async (jobs) => {
        // Not cut off by a signal: a job whose id never arrived could not be stopped.
        const jobId = await jobs.start(input);
        if (detach) return print(context, command, { job_id: jobId }, () => `${jobId}\n`);
        context.exitCode = await followJob(jobs, { context, command, jobId, raw, attempt: 1 });
      });
    });
}
