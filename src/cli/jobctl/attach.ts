import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { resolveJobId } from "../short-id.ts";
import { withJobs } from "../with-jobs.ts";
import { followJob } from "./follow-job.ts";

export function define(command: Command, context: CliContext): void {
  command
    .argument("<id>", "the job, or the start or end of its id")
    .option("--raw", "write its output to a terminal as it is, with all that it can do there")
    .addHelpText(
      "after",
      "\nAs `run` does, it ends with the job's exit code, and Ctrl-C stops the job. `stream` only looks.",
    )
    .action((id: string, { raw = false }: { raw?: boolean }) =>
      withJobs(context, command, async (jobs) => {
        const jobId = await resolveJobId(jobs, id);
        context.exitCode = await followJob(jobs, { context, command, jobId, raw });
      }),
    );
}
