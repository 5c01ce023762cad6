import type { Command } from "commander";
import { withJobs } from "../../connection/with-jobs.ts";
import type { CliContext } from "../../context.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import { rawHelp } from "./copy-output.ts";
import { followJob, namingJob } from "./follow-job.ts";

export function define(command: Command, context: CliContext): void {
  command
    .argument("<id>", jobIdHelp)
    .option("--raw", rawHelp)
    .addHelpText(
      "after",
      "\nLike `run`, it ends with the job's exit code. Ctrl-C leaves the job running; `jobctl stop ID` stops it.",
    )
    .action((id: string, { raw = false }: { raw?: boolean }) =>
      withJobs(context, command, async (jobs) => {
        const jobId = await resolveJobId(jobs, id);
        const { kind } = await namingJob({ command, jobId }, () =>
          jobs.status(jobId, { signal: context.stops.requested }),
        );
        const isTold = kind === "delegate";
        const follow = () => followJob(jobs, { context, command, jobId, raw, isTold, onLeave: "detach" });
        if (!isTold) {
          context.exitCode = await follow();
          return;
        }
        // Events are read over HTTP, whose client takes longer to load than other jobs need.
        const { tellingCalls } = await import("./tell-calls.ts");
        context.exitCode = await tellingCalls({ context, command, jobId }, follow);
      }),
    );
}
