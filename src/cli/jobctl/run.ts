import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { withJobs } from "../with-jobs.ts";
import { rawHelp } from "./copy-output.ts";
import { followJob } from "./follow-job.ts";
import { readStdin } from "./read-stdin.ts";
import { addStartOptions, type StartFlags, startInput } from "./start-options.ts";

export function define(command: Command, context: CliContext): void {
  addStartOptions(command);
  command
    .option("--detach", "print the id and leave the job running; `jobctl attach ID` follows it later")
    .option("--raw", rawHelp)
    .addHelpText(
      "after",
      "\nExit code: that of the command, or 128 + n after signal n, 126 when the command cannot be executed, 127 when it is\nnot found, 124 after --timeout, 125 when Writ itself fails, and 130 after Ctrl-C, which also stops the job.",
    )
    .action(async (flags: StartFlags & { detach?: boolean; raw?: boolean }) => {
      const { detach = false, raw = false, ...startFlags } = flags;
      const input = startInput(context, startFlags);
      const stdin = await readStdin(context, startFlags);
      return withJobs(context, command, async (jobs) => {
        // A signal does not interrupt this call: without its id, the job could not be stopped.
        const jobId = await jobs.start({ ...input, stdin });
        if (detach) return print(context, command, { job_id: jobId }, () => `${jobId}\n`);
        context.exitCode = await followJob(jobs, { context, command, jobId, raw, attempt: 1 });
      });
    });
}
